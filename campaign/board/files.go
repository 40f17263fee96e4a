package board

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
)

// Put stores a file under a name.
func (b *Board) Put(ctx context.Context, name string, r io.Reader) error {
	_, err := b.files.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
	return err
}

// PutBytes stores bytes under a name.
func (b *Board) PutBytes(ctx context.Context, name string, data []byte) error {
	return b.Put(ctx, name, bytes.NewReader(data))
}

// Has reports whether there is a file of a name, and how many bytes it has.
func (b *Board) Has(ctx context.Context, name string) (bool, uint64, error) {
	info, err := b.files.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	return true, info.Size, nil
}

// Get opens the file of a name. ErrNone says that there is none.
func (b *Board) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.files.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrNone
	}
	return r, err
}

// Campaign returns a campaign.
func (b *Board) Campaign(ctx context.Context, id string) (*plan.Campaign, error) {
	var data []byte
	err := Retry(ctx, func(ctx context.Context) (err error) {
		data, err = b.files.GetBytes(ctx, "campaign/"+id)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return ErrNone
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", id, err)
	}
	return plan.Read(data)
}

// FileName is the name of a file of that digest.
func FileName(digest string) string { return "file/" + digest }
