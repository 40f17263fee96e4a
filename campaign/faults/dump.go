package faults

import (
	"context"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
)

// dumpStreams prints the contents of the streams and which coordinator leads, for the report of a failure.
func (r *rig) dumpStreams(ctx context.Context, to io.Writer) {
	js, err := jetstream.New(r.b.Conn)
	if err != nil {
		fmt.Fprintln(to, err)
		return
	}
	streams := js.ListStreams(ctx)
	for s := range streams.Info() {
		fmt.Fprintf(to, "stream %s: %d messages, %d to %d\n", s.Config.Name, s.State.Msgs, s.State.FirstSeq,
			s.State.LastSeq)
	}
	if streams.Err() != nil {
		fmt.Fprintln(to, "streams:", streams.Err())
	}
	c, err := js.Consumer(ctx, "WORK", r.c.Build+"-"+r.c.Searches[0].Needs())
	if err != nil {
		fmt.Fprintln(to, "consumer of WORK:", err)
	} else {
		i := c.CachedInfo()
		fmt.Fprintf(to, "consumer of WORK: %d pending, %d unacknowledged, %d redelivered, %d waiting workers\n",
			i.NumPending, i.NumAckPending, i.NumRedelivered, i.NumWaiting)
	}
	e, err := r.b.Lead.Get(ctx, "lead")
	if err != nil {
		fmt.Fprintln(to, "lead:", err)
		return
	}
	fmt.Fprintf(to, "lead: %s, revision %d, %v\n", e.Value(), e.Revision(), e.Created())
}
