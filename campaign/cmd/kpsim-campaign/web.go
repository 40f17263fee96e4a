package main

import (
	"kpsim/campaign/board"
	"kpsim/internal/cli"
)

func (c *serveCmd) web(p *cli.Program, b *board.Board) (func(), error) { return serveWeb(p, b, c.HTTP) }

func serveWeb(p *cli.Program, b *board.Board, at string) (func(), error) {
	return func() {}, nil
}
