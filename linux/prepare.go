package linux

import (
	"fmt"
	"slices"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

const page = 4096

// prepare makes the images from the sections. It applies the patches that a real kernel's
// boot would, and those that call services.
func (k *Kernel) prepare() error {
	own := k.Image.Section(".data..percpu")
	k.perCPU.bytes, k.perCPU.span = own.Data, roundUp(int(own.Size)+page, page)
	for _, s := range k.Image.Sections() {
		if s.Name != own.Name {
			k.lay(s)
		}
	}
	if err := k.port.bootText(k); err != nil {
		return err
	}
	return k.serve()
}

// roundUp returns the next multiple of a power of two. Addresses of kernels are negative.
func roundUp(n, to int) int { return (n + to - 1) &^ (to - 1) }

// lay makes the pages of a section. Sections that share a page share an image, but data that is written shares only
// that page with text.
func (k *Kernel) lay(s vmlinux.Section) {
	if n := len(k.images); n > 0 && s.Write && k.images[n-1].Exec {
		last := k.images[n-1]
		if edge := last.At + arch.Addr(last.Size); edge > arch.Addr(s.Addr) && edge < arch.Addr(s.Addr+s.Size) {
			head, n := s, int(edge-arch.Addr(s.Addr))
			head.Data = s.Data[:min(n, len(s.Data))]
			k.fill(last, head)
			s.Addr, s.Size, s.Data = s.Addr+uint64(n), s.Size-uint64(n), s.Data[len(head.Data):]
		}
	}
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
		if s.bits32 && !k.Processor.Bits32() || s.on != nil && s.on != k.port ||
			s.alone && k.config.without == "" || s.one && k.port.batches {
			continue
		}
		n := len(k.services)
		for _, name := range s.names {
			sym, ok := k.Image.Symbol(name)
			if !ok {
				continue
			}
			k.services = append(k.services, &service{name: name, served: s})
			for _, at := range copies(k, sym) {
				taken[at] = true
				if s.core {
					k.records.clients.text = append(k.records.clients.text, Patch{uint64(at),
						slices.Clone(k.bytes(at, k.arch.BranchLen))})
				}
				if err := k.jump(at, gateAt(k, len(k.services)-1)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		if s.needed && s.on == nil && s.batched && !k.port.batches {
			continue
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

// copies returns where a function is: a compiler may have made one of an inline function for each file.
func copies(k *Kernel, sym vmlinux.Symbol) []arch.Addr {
	all := []arch.Addr{arch.Addr(sym.Addr)}
	for _, c := range k.Closure.Boundary {
		if c.Name == sym.Name && c.Addr != sym.Addr {
			all = append(all, arch.Addr(c.Addr))
		}
	}
	return all
}

// gateAt returns the address of gate i.
func gateAt(k *Kernel, i int) arch.Addr {
	return kapi.GatesOf(k.arch) + arch.Addr(i)*kapi.GateSize
}

// end returns where the last image ends.
func (k *Kernel) end() (end arch.Addr) {
	for _, im := range k.images {
		end = max(end, im.At+arch.Addr(im.Size))
	}
	return end
}

// jump writes a jump over the entry of a function, or both entries if there are two.
func (k *Kernel) jump(at, to arch.Addr) error {
	if f := k.port.text.local; f != nil {
		if entry := f(k, at); entry != at {
			if err := k.putBranch(entry, to); err != nil {
				return err
			}
		}
	}
	return k.putBranch(at, to)
}

// putBranch writes a jump over an instruction.
func (k *Kernel) putBranch(at, to arch.Addr) error {
	b := k.bytes(at, k.arch.BranchLen)
	code, ok := k.arch.Jump(at, to)
	if b == nil || !ok {
		return fmt.Errorf("%#x: there is no room for a jump", uint64(at))
	}
	copy(b, code.Bytes())
	return nil
}

// patchCall writes a call over the entry of a function. Where there are two entries, the other leads there.
func (k *Kernel) patchCall(at, to arch.Addr) error {
	if f := k.port.text.local; f != nil {
		at = f(k, at)
	}
	b := k.bytes(at, k.arch.BranchLen)
	code, ok := k.arch.Call(at, to)
	if b == nil || !ok {
		return fmt.Errorf("%#x: there is no room for a call", uint64(at))
	}
	copy(b, code.Bytes())
	return nil
}

// wrapAll redirects all direct calls of watched functions to a thunk of kpsim's, which calls
// the function and then a gate.
func (k *Kernel) wrapAll() error {
	thunks := &kapi.Image{At: (k.end()+page-1)&^(page-1) + page, Size: page, Exec: true, Bytes: make([]byte, page)}
	if k.port.text.thunks != 0 {
		thunks.At = k.port.text.thunks
	}
	to := make(map[arch.Addr]arch.Addr)
	for i := range watched {
		w := &watched[i]
		at := k.compiled(w.name)
		if at == 0 {
			continue
		}
		off := len(to) * thunkSize
		thunk := thunks.At + arch.Addr(off)
		before, after := gateAt(k, len(k.services)), gateAt(k, len(k.services)+1)
		code, ok := k.port.thunk(k, thunk, [3]arch.Addr{before, at, after})
		if !ok && k.Closure.Function(uint64(at)) == nil { // nothing calls it, and its entry leads to a gate
			continue
		}
		if !ok || len(code) > thunkSize {
			return fmt.Errorf("%s is out of reach", w.name)
		}
		copy(thunks.Bytes[off:], code)
		k.services = append(k.services, &service{name: w.name + " begins", served: new(served), watch: w},
			&service{name: w.name + " ends", served: new(served), watch: w, ends: true})
		to[at] = thunk
	}
	if k.port.missed != nil && k.hooks.own && k.config.without == "" {
		off := len(to) * thunkSize
		code, err := k.port.missed(k, thunks.At+arch.Addr(off), gateAt(k, len(k.services)))
		if err != nil {
			return err
		}
		copy(thunks.Bytes[off:], code)
		k.services = append(k.services, &service{name: "a return is missed",
			served: &served{keeps: true, do: missedReturn}})
	}
	k.images = append(k.images, thunks)
	if f := k.port.text.sites; f != nil {
		if err := f(k); err != nil {
			return err
		}
	}
	return k.port.redirect(k, to)
}

// thunkSize is how many bytes a thunk has.
const thunkSize = 64
