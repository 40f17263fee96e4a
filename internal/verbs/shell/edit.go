package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/peterh/liner"
	"golang.org/x/term"
)

// A session at a terminal, with a line editor.

// canEdit reports whether lines can be edited: standard input and output must be terminals that
// can move the cursor.
func canEdit() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) && liner.TerminalSupported()
}

// edit is talk with an editor. It restores the terminal's mode at the end, also on SIGTERM.
func (h *sh) edit() error {
	l := liner.NewLiner()
	var once sync.Once
	giveBack := func() { once.Do(func() { l.Close() }) }
	defer giveBack()
	l.SetCtrlCAborts(true)
	l.SetTabCompletionStyle(liner.TabPrints)
	l.SetWordCompleter(h.complete)
	l.SetBeep(false)
	defer h.listen(giveBack)()

	kept := h.recall(l)
	h.p.Indented("", h.greeting())
	for !h.done {
		h.p.Flush()
		if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			h.p.Width = columns
		}
		line, err := l.Prompt(prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted): // ^C: another line
			continue
		case errors.Is(err, io.EOF): // ^D
			fmt.Fprintln(h.p.Out)
			return nil
		case err != nil:
			return fmt.Errorf("the terminal: %w", err)
		}
		if strings.TrimSpace(line) != "" {
			l.AppendHistory(line)
			if kept != nil {
				kept = kept.lost(h.p, kept.add(line))
			}
		}
		if err := h.line(line); err != nil {
			fmt.Fprintln(h.p.Out, err)
		}
	}
	return nil
}

// recall loads the lines of earlier sessions into the editor. It returns nil if no history can be
// kept.
func (h *sh) recall(l *liner.State) *history {
	path, err := historyPath()
	kept := &history{path}
	var lines []string
	if err == nil {
		lines, err = kept.read()
	}
	for _, line := range lines {
		l.AppendHistory(line)
	}
	return kept.lost(h.p, err)
}

// listen makes ^C end only the running command until done is called. Any other signal restores
// the terminal and ends the session.
func (h *sh) listen(giveBack func()) (done func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	h.p.LeaveInterrupt()
	over := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt {
					h.interrupt.Store(true)
					continue
				}
				giveBack()
				number, _ := s.(syscall.Signal)
				os.Exit(128 + int(number))
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
	}
}
