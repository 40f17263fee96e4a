package bpf

import (
	"math/bits"

	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

var (
	uncounted = kapi.DefineFault("bpf-image-uncounted",
		"an image that calls the function is freed without a wait for the tasks that will return into it",
		"bpf_tramp_image_put: percpu_ref_kill, since e21d2b92354b (5.12)")
	entersLate = kapi.DefineFault("bpf-image-entered",
		"an image is freed while a task in it isn't counted in yet", "bpf_tramp_image_put: the first call_rcu_tasks")
	leavesLate = kapi.DefineFault("bpf-image-left",
		"an image is freed while a task in it is counted out already",
		"__bpf_tramp_image_release: call_rcu_tasks")
	exitsLate = kapi.DefineFault("bpf-exits-late",
		"an image that has been put still calls the fexit programs where the function returns",
		"bpf_tramp_image_put: bpf_arch_text_poke of ip_after_call")
	halves = kapi.DefineFault("bpf-halves",
		"images are the halves of a page in turn, each written again after a wait for tasks",
		"bpf_trampoline_update, 5.6 to 5.11")
)

// A room is the condition that another image may be made.
type room struct{ t *trampoline }

func (r room) Cell() kapi.CellID { return r.t.live.ID() }
func (r room) Holds() bool       { return r.t.live.Peek() < mostImages }

// putImage gives up an image that nothing calls any more (bpf_tramp_image_put). Context: tr->mutex held.
func (t *trampoline) putImage(x kapi.Context, n int) {
	d, im := &t.b.d, &t.images[n]
	if d.Boot.Planted(halves) {
		return
	}
	if im.after != 0 && !d.Boot.Planted(exitsLate) {
		jump, _ := d.Text.Arch().Jump(im.after, im.end) // both are in the image
		d.Text.Mutex().Lock(x)
		d.Patch.Batch(x, []kapi.Rewrite{{At: im.after, Insn: jump.Bytes()}})
		d.Text.Mutex().Unlock(x)
	}
	*t.put.RMW(x, kapi.Once) |= 1 << n
	t.free.Queue(x)
}

// freeImages is the work that frees images which have been put. Context: may sleep.
func (t *trampoline) freeImages(x kapi.Context) {
	d := &t.b.d
	for {
		put := t.put.RMW(x, kapi.Once)
		if *put == 0 {
			return
		}
		n := bits.TrailingZeros32(*put)
		*put &^= 1 << n
		im := &t.images[n]
		if im.after == 0 {
			d.RCU.Synchronize(x, kapi.QuiesceTasks)
			t.freeImage(x, n)
			continue
		}

		if !d.Boot.Planted(entersLate) {
			d.RCU.Synchronize(x, kapi.QuiesceTasks)
		}

		if !d.Boot.Planted(uncounted) && kapi.Add(&im.refs, x, kapi.Once, -1) > 0 {
			x.Sleep(&im.none)
		}

		if !d.Boot.Planted(leavesLate) {
			d.RCU.Synchronize(x, kapi.QuiesceTasks)
		}
		t.freeImage(x, n)
	}
}

// freeImage frees an image that no task is in.
func (t *trampoline) freeImage(x kapi.Context, n int) {
	im := &t.images[n]
	t.b.d.Exec.Free(x, im.at, imageSize, smpev.BpfMem)
	kapi.Add(&t.live, x, kapi.Once, -1)
	im.used = false
}
