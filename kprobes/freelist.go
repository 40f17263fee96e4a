package kprobes

import "kpsim/smp/kapi"

// The lock-free list of free instances (5.11 to 6.6): a stack whose elements are
// counted while somebody looks at them, so that one isn't put back, and its link
// rewritten, while another CPU is about to take its neighbour by that link. An
// element's count is 1 for being on the list and 1 for each CPU that looks; the
// highest bit says that it is to be put on the list by whoever is the last to
// look. (The algorithm is Cameron Desrochers', public since 2014.)

// toList is that bit.
const toList = 1 << 31

// freelistAdd puts an instance on the list, or leaves that to who looks at it.
func freelistAdd(x kapi.Context, h *holder, ri *Instance) {
	if addRefs(x, ri, toList) == toList {
		freelistPut(x, h, ri)
	}
}

// freelistPut puts an instance on the list at which nobody looks. Each time round
// another CPU has changed the list in between.
func freelistPut(x kapi.Context, h *holder, ri *Instance) {
	for {
		first := h.head.Load(x)
		ri.next.Store(x, first)
		ri.refs.Store(x, 1)
		if h.head.Swap(x, first, ri) || addRefs(x, ri, toList-1) != toList {
			return
		}
	}
}

// freelistGet takes the first instance of the list; nil: it is empty. Each time
// round another CPU has changed the list in between.
func freelistGet(x kapi.Context, h *holder) *Instance {
	for {
		ri := h.head.Load(x)
		if ri == nil {
			return nil
		}
		refs := ri.refs.Load(x)
		ri.look(x)
		if refs&^toList == 0 || !ri.refs.Swap(x, refs, refs+1) {
			continue
		}
		if h.head.Swap(x, ri, ri.next.Load(x)) {
			ri.look(x)
			addRefs(x, ri, ^uint32(1)) // ours and the list's
			return ri
		}
		if addRefs(x, ri, ^uint32(0)) == toList {
			freelistPut(x, h, ri)
		}
	}
}

// addRefs adds to an instance's count atomically and returns the sum (point).
func addRefs(x kapi.Context, ri *Instance, d uint32) uint32 {
	x.Access(ri.refs.ID(), kapi.Write)
	sum := ri.refs.Peek() + d
	ri.refs.Set(sum)
	return sum
}
