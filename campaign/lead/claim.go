package lead

import (
	"context"
	"time"

	"kpsim/campaign/board"
)

// claim keeps this coordinator's lead, or takes it if no coordinator leads.
func (l *Lead) claim(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if l.leadRevision > 0 {
		if rev, err := l.b.Lead.Update(ctx, "lead", []byte(l.o.Name), l.leadRevision); err == nil {
			l.leadRevision = rev
			return
		}
		l.leadRevision = 0
	}
	if rev, err := l.b.Lead.Create(ctx, "lead", []byte(l.o.Name)); err == nil {
		l.leadRevision = rev
		return
	}
	// The server forgets the key by its clock, which may have been set back since it was written.
	e, err := l.b.Lead.Get(ctx, "lead")
	switch {
	case err != nil:
	case string(e.Value()) == l.o.Name: // the answer to our write was lost
		l.leadRevision = e.Revision()
	case e.Revision() != l.rivalRevision:
		l.rivalRevision, l.rivalSince = e.Revision(), time.Now()
	case time.Since(l.rivalSince) > board.LeadTTL+serverTimeout:
		if rev, err := l.b.Lead.Update(ctx, "lead", []byte(l.o.Name), l.rivalRevision); err == nil {
			l.leadRevision = rev
		}
	}
}

// resign gives up the lead at once, so that another coordinator can take it.
func (l *Lead) resign() {
	if l.leadRevision > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.b.Lead.Purge(ctx, "lead") // if this fails, the key expires by itself
	}
}
