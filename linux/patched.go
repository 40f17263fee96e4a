package linux

import (
	"fmt"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Patch is bytes of a kernel's text that are changed: a fault that is put in on purpose.
type Patch struct {
	At    uint64
	Bytes []byte
}

// Patched returns a kernel as it was booted, with some of its text changed since. Both
// share all other pages.
func (b *Booted) Patched(list []Patch) (*Booted, error) {
	changed := *b
	changed.images = append([]*kapi.Image(nil), b.images...)
	for _, p := range list {
		for i := range p.Bytes {
			if err := changed.patch(arch.Addr(p.At)+arch.Addr(i), p.Bytes[i], b); err != nil {
				return nil, err
			}
		}
	}
	return &changed, nil
}

// patch changes one byte: its page becomes one of b's own, unless it is already.
func (b *Booted) patch(at arch.Addr, v byte, was *Booted) error {
	for i, im := range b.images {
		if at < im.At || at >= im.At+arch.Addr(im.Size) {
			continue
		}
		if !im.Exec {
			break
		}
		n := int(at-im.At) / page
		if im == was.images[i] {
			own := *im
			own.Over = make(map[int]*[page]byte, len(im.Over)+1)
			for k := range im.Size / page {
				if o := im.Over[k]; o != nil {
					own.Over[k] = o
				}
			}
			im = &own
			b.images[i] = im
		}
		own := new([page]byte)
		if o := im.Over[n]; o != nil {
			*own = *o
		} else if n*page < len(im.Bytes) {
			copy(own[:], im.Bytes[n*page:])
		}
		own[int(at-im.At)%page] = v
		im.Over[n] = own
		return nil
	}
	return fmt.Errorf("%#x is no text of the kernel", uint64(at))
}
