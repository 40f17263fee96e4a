package board

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"kpsim/campaign/plan"
)

// MostResult is the largest result, in bytes, before packing.
const MostResult = 64 << 20

// MostPieces is the most pieces of a result. Data that packing can't shrink grows a little.
const MostPieces = MostResult/MostPiece + 2

// A Packed is a result as it is stored and sent.
type Packed struct {
	Key         string        `json:"key"` // the unit's
	Digest      string        `json:"digest"`
	Size        int64         `json:"size"` // before packing
	Took        time.Duration `json:"took"`
	Worker      string        `json:"worker"`
	AsideReason string        `json:"aside,omitempty"`  // why the unit was set aside; it then has no result
	Pieces      int           `json:"pieces,omitempty"` // 0: the result is in Data
	Delivery    uint64        `json:"delivery"`         // of the unit; the pieces belong to it
	Seq         uint64        `json:"seq"`              // its place in the stream
	Data        []byte        `json:"-"`
}

var packer = sync.OnceValue(func() *zstd.Encoder {
	p, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are wrong
	}
	return p
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	u, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MostResult), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are wrong
	}
	return u
})

// Pack packs a result.
func Pack(data []byte) []byte { return packer().EncodeAll(data, nil) }

// Unpack returns a result. It checks the size before it allocates, and the digest afterwards.
func (p *Packed) Unpack(packed []byte) ([]byte, error) {
	if p.Size < 0 || p.Size > MostResult {
		return nil, fmt.Errorf("a result of %d bytes; at most %d are stored", p.Size, MostResult)
	}
	data, err := unpacker().DecodeAll(packed, make([]byte, 0, p.Size))
	switch {
	case err != nil:
		return nil, ErrDamaged
	case int64(len(data)) != p.Size || DigestOf(data) != p.Digest:
		return nil, errors.New("it is damaged: its size or its digest differs")
	}
	return data, nil
}

// UnitOf reads a key made by Unit.Key, and refuses anything else.
func UnitOf(key string) (u plan.Unit, err error) {
	if err := parseKey(key, &u); err != nil {
		return u, err
	}
	kinds := []plan.Kind{plan.Runs, plan.Canary, plan.Witness, plan.Island, plan.Proof}
	if u.Key() != key || !IsID(u.Campaign) || !slices.Contains(kinds, u.Kind) {
		return u, fmt.Errorf("%q names no unit", plan.Clean(key, 80, false))
	}
	return u, nil
}
