package smp

import (
	"cmp"
	"slices"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A large image, such as a kernel's, is mapped lazily, because a run touches little of it: a
// page is made when it is first touched, from bytes that all machines share.

// A region is an image in a machine's address space.
type region struct {
	*kapi.Image
	end arch.Addr
}

// MapImage lays an image into the address space. It is called before Freeze.
func (m *Memory) MapImage(im *kapi.Image) {
	if im.At%pageSize != 0 || im.Size%pageSize != 0 || im.Size <= 0 || len(im.Bytes) > im.Size {
		sim.Bug("an image of %#x bytes at %#x isn't whole pages", im.Size, uint64(im.At))
	}
	r := region{im, im.At + arch.Addr(im.Size)}
	i, _ := slices.BinarySearchFunc(m.lazy, im.At, func(r region, at arch.Addr) int { return cmp.Compare(r.At, at) })
	if i > 0 && m.lazy[i-1].end > im.At || i < len(m.lazy) && m.lazy[i].At < r.end {
		sim.Bug("the image at %#x overlaps another", uint64(im.At))
	}
	m.lazy = slices.Insert(m.lazy, i, r)
}

// firstTouch makes the image page that contains a; nil: no image does.
func (m *Memory) firstTouch(a arch.Addr) *page {
	i, found := slices.BinarySearchFunc(m.lazy, a, func(r region, at arch.Addr) int { return cmp.Compare(r.At, at) })
	if !found {
		i--
	}
	if i < 0 || a >= m.lazy[i].end {
		return nil
	}
	r := &m.lazy[i]
	perm := PermRead
	switch {
	case r.Exec:
		perm |= PermExec
	case r.Write:
		perm |= PermWrite
	}
	p := m.mapCode(a, perm)
	p.boot = pageOf(r.Image, int(p.at-r.At)/pageSize)
	p.data = *p.boot
	return p
}

// pageOf returns page n as it is when a run begins.
func pageOf(im *kapi.Image, n int) *[pageSize]byte {
	if b := im.Over[n]; b != nil {
		return b
	}
	from := n * pageSize
	switch rest := len(im.Bytes) - from; {
	case rest <= 0:
		return &zeros
	case rest < pageSize:
		b := new([pageSize]byte)
		copy(b[:], im.Bytes[from:])
		return b
	}
	return (*[pageSize]byte)(im.Bytes[from:])
}

// Left returns each image as a run has left it, with the changed pages in Over. Another
// machine can go on from there.
func (m *Memory) Left() (list []*kapi.Image) {
	for i := range m.lazy {
		was := m.lazy[i].Image
		im := *was
		im.Over = make(map[int]*[PageSize]byte, len(was.Over))
		for n := range im.Size / pageSize {
			if b := was.Over[n]; b != nil {
				im.Over[n] = b
			}
		}
		list = append(list, &im)
	}
	for _, p := range m.dirty {
		for _, im := range list {
			if p.at >= im.At && p.at < im.At+arch.Addr(im.Size) {
				b := p.data
				im.Over[int(p.at-im.At)/pageSize] = &b
			}
		}
	}
	return list
}
