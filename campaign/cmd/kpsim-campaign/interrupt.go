package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"kpsim/internal/ui/cli"
)

// errInterrupted says that the user ended a command.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that ends at ^C or SIGTERM.
func interruptible(p *cli.Program) (context.Context, context.CancelFunc) {
	p.LeaveInterrupt()
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
