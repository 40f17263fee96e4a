package ftrace

import (
	"bytes"

	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

var blind = kapi.DefineFault("ftrace-blind",
	"ftrace writes to a site without looking whether its own bytes stand there", "ftrace_verify_code")

// verify reports whether each site of the batch has the bytes that ftrace has left there (ftrace_verify_code). If one
// hasn't ftrace warns and shuts down (ftrace_bug, ftrace_kill): it leaves all text as it is, calls its clients from
// where it called them, and each later call of its API is refused. Sites that only ftrace writes aren't read. Context:
// ftrace_lock and text_mutex held.
func (f *Ftrace) verify(x kapi.Context) bool {
	for i := range f.batch {
		at, n := f.batch[i].At, len(f.batch[i].Insn)
		if !f.d.Boot.Foreign(at, n) || f.d.Boot.Planted(blind) {
			continue
		}
		now, was := f.left(f.find(at)), f.left(f.find(at))
		f.d.Text.Read(x, at, now.Bytes())
		f.d.Boot.Shares(x, at, n, Site, false)
		if !bytes.Equal(now.Bytes(), was.Bytes()) {
			x.Emit(linuxev.Warn, uint64(at), 0, 0)
			f.dead = true
			return false
		}
	}
	return true
}

// left returns the instruction that ftrace has left at a site. Context: ftrace_lock held.
func (f *Ftrace) left(s *site) arch.Code {
	switch s.calls {
	case 0:
		return s.nop
	case f.at:
		return s.call
	}
	c, _ := f.d.Form.Call(s.at, s.calls)
	return c
}
