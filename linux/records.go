package linux

import (
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// The sites of ftrace. A page of records (struct ftrace_page, struct dyn_ftrace) holds those
// of a scenario, as ftrace_init leaves them. A record counts the clients of its site before
// the kernel's own code walks the records and patches the text.

// Bits of a record's flags (include/linux/ftrace.h), and of a command.
const (
	recordEnabled  = 1 << 31
	recordRegs     = 1 << 30 // the site's clients want all registers
	recordRegsNow  = 1 << 29 // the site's clients get all registers
	recordDisabled = 1 << 25 // the site's text isn't loaded
	recordClients  = 1<<16 - 1

	updateCalls = 1
)

// recordParts are the parts of ftrace that the engine uses.
type recordParts struct {
	// ftrace_arch_code_modify_prepare, arch_ftrace_update_code, ftrace_arch_code_modify_post_process
	begin, update, end   arch.Addr
	pages                arch.Addr // ftrace_pages_start; 0: the kernel has no ftrace
	caller, plain        arch.Addr // ftrace_regs_caller, ftrace_caller
	list, length         field     // of struct ftrace_page
	ip, flags            field     // of struct dyn_ftrace
	pageSize, recordSize arch.Addr
}

// findRecords looks up the parts of ftrace. It finds all of them or none.
func (k *Kernel) findRecords() {
	t := k.Image.Types()
	r := recordParts{
		begin: k.at("ftrace_arch_code_modify_prepare"), update: k.at("arch_ftrace_update_code"),
		end:   k.at("ftrace_arch_code_modify_post_process"),
		pages: k.at("ftrace_pages_start"), caller: k.at("ftrace_regs_caller"),
		plain: k.at("ftrace_caller"),
	}
	ok := r.begin != 0 && r.update != 0 && r.end != 0 && r.pages != 0 && r.caller != 0 && r.plain != 0
	r.list, ok = part(t, "ftrace_page", "records", ok)
	r.length, ok = part(t, "ftrace_page", "index", ok)
	r.ip, ok = part(t, "dyn_ftrace", "ip", ok)
	r.flags, ok = part(t, "dyn_ftrace", "flags", ok)
	page, _ := t.Size("ftrace_page")
	record, _ := t.Size("dyn_ftrace")
	if r.pageSize, r.recordSize = arch.Addr(page), arch.Addr(record); ok {
		k.records = r
	}
}

// record returns the address of a site's record.
func (k *Kernel) record(site int) arch.Addr {
	return k.near() + recordsAt + k.records.pageSize + arch.Addr(site)*k.records.recordSize
}

// layRecords writes the page and its records.
func (pa *patched) layRecords() {
	r, g := &pa.k.records, pa.d.Guest
	if pa.Sites() == nil {
		return
	}
	page, n := pa.k.near()+recordsAt, pa.d.Sites.Sites()
	pa.putWord(r.pages, uint64(page))
	g.Put(page+arch.Addr(r.list.off), r.list.size, uint64(pa.k.record(0)))
	g.Put(page+arch.Addr(r.length.off), r.length.size, uint64(n))
	for i := range n {
		at, _ := pa.d.Sites.Images(i)
		g.Put(pa.k.record(i)+arch.Addr(r.ip.off), r.ip.size, uint64(at))
	}
}

// Sites implements engine.Patcher.
func (pa *patched) Sites() ftrace.Writer {
	if pa.k.records.pages == 0 || pa.d.Sites == nil || pa.k.record(pa.d.Sites.Sites()) > pa.k.near()+nearSize {
		return nil
	}
	return pa
}

// WriteSites implements ftrace.Writer by ftrace_run_update_code. The kernel's flags in a
// record are kept, unless the site's text was replaced since.
func (pa *patched) WriteSites(x kapi.Context, f *ftrace.Ftrace) {
	r := &pa.k.records
	for i := range f.Sites() {
		want, at := f.Record(i), pa.k.record(i)
		flags := get(x, at, r.flags) &^ (recordClients | recordRegs | recordDisabled)
		if !want.On {
			flags &^= recordEnabled | recordRegsNow
		}
		flags |= uint64(want.Clients)
		if want.Regs {
			flags |= recordRegs
		}
		if !want.Here {
			flags |= recordDisabled
		}
		set(x, at, r.flags, flags)
	}
	pa.call(x, r.begin)
	pa.call(x, r.update, updateCalls)
	pa.call(x, r.end)
}

// SiteCalls implements ftrace.Writer.
func (pa *patched) SiteCalls(at arch.Addr) (regs, plain arch.Code) {
	regs, _ = pa.k.arch.Call(at, pa.k.records.caller)
	plain, _ = pa.k.arch.Call(at, pa.k.records.plain)
	return regs, plain
}

// siteCalls is ftrace_regs_caller or ftrace_caller, which the sites call.
func siteCalls(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.Sites.Caller(x, x.Regs())
	return 0
}
