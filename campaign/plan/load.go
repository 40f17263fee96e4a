package plan

import (
	"errors"

	"kpsim/internal/cli"
)

// IsFile later.
func IsFile(args []string) (string, bool) { return "", false }

// Load later.
func Load(p *cli.Program, c *Campaign, file string) error { return errors.New("later") }
