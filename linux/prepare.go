package linux

import (
	"fmt"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

const page = 4096

// prepare makes the images from the sections. It applies the patches that a real kernel's
// boot would, and those that call services.
func (k *Kernel) prepare() error {
	for _, s := range k.Image.Sections() {
		if s.Name == ".data..percpu" {
			k.perCPU.bytes = s.Data
			k.perCPU.span = roundUp(int(s.Size)+page, page)
			continue
		}
		k.lay(s)
	}
	k.bootText()
	return k.serve()
}

// roundUp returns the next multiple of a power of two. Addresses of kernels are negative.
func roundUp(n, to int) int { return (n + to - 1) &^ (to - 1) }

// lay makes the pages of a section. Sections that share a page share an image.
func (k *Kernel) lay(s vmlinux.Section) {
	at := arch.Addr(s.Addr)
	first, end := at&^(page-1), (at+arch.Addr(s.Size)+page-1)&^(page-1)
	if n := len(k.images); n > 0 {
		if last := k.images[n-1]; last.At+arch.Addr(last.Size) > first {
			last.Size = max(last.Size, int(end-last.At))
			last.Write = last.Write || s.Write && !last.Exec
			k.fill(last, s)
			return
		}
	}
	im := &kapi.Image{At: first, Size: int(end - first), Exec: s.Exec, Write: !s.Exec}
	k.images = append(k.images, im)
	k.fill(im, s)
}

// fill copies a section's bytes into its image.
func (k *Kernel) fill(im *kapi.Image, s vmlinux.Section) {
	if s.Data == nil {
		return
	}
	off := int(arch.Addr(s.Addr) - im.At)
	if off == 0 && len(im.Bytes) == 0 {
		im.Bytes = append([]byte(nil), s.Data...)
		return
	}
	if need := off + len(s.Data); need > len(im.Bytes) {
		im.Bytes = append(im.Bytes, make([]byte, need-len(im.Bytes))...)
	}
	copy(im.Bytes[off:], s.Data)
}

// holding returns the image that an address lies in, or nil.
func (k *Kernel) holding(a arch.Addr) *kapi.Image {
	for _, im := range k.images {
		if a >= im.At && a < im.At+arch.Addr(im.Size) {
			return im
		}
	}
	return nil
}

// bytes returns n bytes of an image for writing, or nil if no image has them.
func (k *Kernel) bytes(a arch.Addr, n int) []byte {
	im := k.holding(a)
	if im == nil {
		return nil
	}
	off := int(a - im.At)
	if off+n > len(im.Bytes) {
		return nil
	}
	return im.Bytes[off : off+n]
}

// serve writes a jump to its gate at the entry of each served function, and of each function
// that must not be called.
func (k *Kernel) serve() error {
	taken := make(map[arch.Addr]bool)
	for i := range boundary {
		s := &boundary[i]
		if s.bits32 && !k.Processor.Bits32() {
			continue
		}
		n := len(k.services)
		for _, name := range s.names {
			sym, ok := k.Image.Symbol(name)
			if !ok {
				continue
			}
			k.services = append(k.services, &service{name: name, served: s})
			taken[arch.Addr(sym.Addr)] = true
			if err := k.jump(arch.Addr(sym.Addr), k.gateAt(len(k.services)-1)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if s.needed && n == len(k.services) {
			return fmt.Errorf("it has no function %s, which its probes call", s.names[0])
		}
	}
	if err := k.refuseRest(taken); err != nil {
		return err
	}
	if err := k.refusePointed(taken); err != nil {
		return err
	}
	return k.wrapAll()
}

// gateAt returns the address of gate i.
func (k *Kernel) gateAt(i int) arch.Addr {
	return k.arch.Addr(kapi.GuestGates) + arch.Addr(i)*kapi.GateSize
}

// end returns where the last image ends.
func (k *Kernel) end() (end arch.Addr) {
	for _, im := range k.images {
		end = max(end, im.At+arch.Addr(im.Size))
	}
	return end
}
