package lead

import (
	"context"
	"time"

	"kpsim/campaign/board"
)

// claim keeps this coordinator's lead, or takes it if no coordinator leads.
func (l *Lead) claim(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	if l.led > 0 {
		if rev, err := l.b.Lead.Update(ctx, "lead", []byte(l.o.Name), l.led); err == nil {
			l.led = rev
			return
		}
		l.led = 0
	}
	if rev, err := l.b.Lead.Create(ctx, "lead", []byte(l.o.Name)); err == nil {
		l.led = rev
		return
	}
	// The server forgets the key by its clock, which may have been set back since it was written.
	e, err := l.b.Lead.Get(ctx, "lead")
	switch {
	case err != nil:
	case string(e.Value()) == l.o.Name: // the answer to our write was lost
		l.led = e.Revision()
	case e.Revision() != l.seen:
		l.seen, l.since = e.Revision(), time.Now()
	case time.Since(l.since) > board.LeadTTL+soon:
		if rev, err := l.b.Lead.Update(ctx, "lead", []byte(l.o.Name), l.seen); err == nil {
			l.led = rev
		}
	}
}

func (l *Lead) resign() {
	if l.led > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.b.Lead.Purge(ctx, "lead") // if it fails, it is forgotten by itself
	}
}
