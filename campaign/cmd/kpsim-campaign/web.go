package main

import (
	"fmt"

	"kpsim/campaign/board"
	"kpsim/campaign/web"
	"kpsim/internal/ui/cli"
)

func (c *serveCmd) web(p *cli.Program, b *board.Board) (func(), error) { return c.page(p, b, c.HTTP) }

// page serves the page of campaigns until the returned function is called. The server's flags apply: beyond loopback
// the page needs TLS too.
func (s *serving) page(p *cli.Program, b *board.Board, at string) (func(), error) {
	if at == "" {
		return func() {}, nil
	}
	server, err := web.Serve(b, web.Options{Listen: at, Insecure: s.Insecure, Cert: s.Cert, Key: s.TLSKey})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.Err, "kpsim-campaign: the page is at %s\n", server.URL)
	p.Flush()
	return server.Stop, nil
}
