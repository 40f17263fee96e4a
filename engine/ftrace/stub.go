package ftrace

import (
	"cmp"

	"kpsim/smp/arch"
)

// stubsAt is where the stubs of sites lie (ftrace_ool_stub_text): within a branch of the text of scenarios and of
// ftrace's trampoline.
const stubsAt arch.Addr = 0xffffffff82b41000

// stubStep is the distance of two stubs: before each is a pointer to the site's client, which only a kernel's own
// trampoline reads (struct ftrace_ool_stub).
const stubStep = 24

// siteCall returns the call of ftrace's trampoline from a site, or the branch to the site's stub, which it gets. ok
// false: one is out of the other's reach.
func (f *Ftrace) siteCall(s *site) (c arch.Code, ok bool) {
	if s.from = s.at; f.d.Form.Stub == nil {
		return f.d.Form.Call(s.at, f.at)
	}
	s.stub = stubsAt + arch.Addr((len(f.sites)+1)*stubStep)
	c, there := f.d.Text.Arch().Jump(s.at, s.stub)
	_, call, ok := f.d.Form.Stub(s.stub, s.at, f.at)
	s.from = s.stub + arch.Addr(call)
	return c, ok && there
}

// behind returns the site whose call is before an address, nil if there is none.
func (f *Ftrace) behind(at arch.Addr) *site {
	for _, s := range f.sites {
		if s.from+arch.Addr(f.d.Text.Arch().BranchLen) == at {
			return s
		}
	}
	return nil
}

// Stub returns where the stub of site i is, 0 if there is none.
func (f *Ftrace) Stub(i int) arch.Addr { return f.sites[i].stub }

// stubs returns the text of all stubs. A kernel that writes to sites itself writes there, too.
func (f *Ftrace) stubs() (list []Text) {
	for _, s := range f.sites {
		if s.stub != 0 {
			code, _, _ := f.d.Form.Stub(s.stub, s.at, cmp.Or(f.d.Caller, f.at))
			list = append(list, Text{Name: "ftrace_ool_stub", At: s.stub, Code: code, Patched: true})
		}
	}
	return list
}
