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

// MostResult is how large a result may be, in bytes, before it is packed.
const MostResult = 64 << 20

// MostPieces is in how many pieces a result may come. What doesn't become smaller when it is packed
// becomes a little larger.
const MostPieces = MostResult/MostPiece + 2

// A Packed is a result as it is stored, and as it is sent.
type Packed struct {
	Key      string        `json:"key"` // of its unit
	Digest   string        `json:"digest"`
	Size     int64         `json:"size"` // before it was packed
	Took     time.Duration `json:"took"`
	Worker   string        `json:"worker"`
	Aside    string        `json:"aside,omitempty"`  // why the unit was set aside: then there is no result
	Pieces   int           `json:"pieces,omitempty"` // 0: it is in Data
	Delivery uint64        `json:"delivery"`         // of the unit, to which the pieces belong
	Seq      uint64        `json:"seq"`              // where it lies
	Data     []byte        `json:"-"`
}

var packer = sync.OnceValue(func() *zstd.Encoder {
	p, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // of the options
	}
	return p
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	u, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MostResult), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // of the options
	}
	return u
})

// Pack packs a result.
func Pack(data []byte) []byte { return packer().EncodeAll(data, nil) }

// Unpack returns a result. It makes sure of its size before it takes the memory, and of its digest.
func (p *Packed) Unpack(packed []byte) ([]byte, error) {
	if p.Size < 0 || p.Size > MostResult {
		return nil, fmt.Errorf("a result of %d bytes, and one has %d at most", p.Size, MostResult)
	}
	data, err := unpacker().DecodeAll(packed, make([]byte, 0, p.Size))
	switch {
	case err != nil:
		return nil, ErrDamaged
	case int64(len(data)) != p.Size || DigestOf(data) != p.Digest:
		return nil, errors.New("it is damaged: its size or its digest is another one")
	}
	return data, nil
}

// UnitOf reads what Unit.Key has made, and nothing else.
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
