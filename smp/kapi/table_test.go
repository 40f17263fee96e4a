package kapi_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// counting is a context that counts the nodes that are looked at.
type counting struct {
	nowhere
	nodes int
}

func (c *counting) Work(k kapi.Work, n int) {
	if k == kapi.WorkNode {
		c.nodes += n
	}
}

// chainOf is hash_64 to 6 bits, in numbers of any size.
func chainOf(at arch.Addr, golden uint64) uint64 {
	h := new(big.Int).Mul(new(big.Int).SetUint64(uint64(at)), new(big.Int).SetUint64(golden))
	h.Mod(h, new(big.Int).Lsh(big.NewInt(1), 64))
	return h.Rsh(h, 58).Uint64()
}

// A table finds what a map does, and looks at as many nodes as its chains have, each a
// list into which the newest goes first.
func TestTable(t *testing.T) {
	for _, golden := range []uint64{0x9e37fffffffc0001, 0x61c8864680b583eb} {
		t.Run(fmt.Sprintf("%#x", golden), rapid.MakeCheck(func(t *rapid.T) {
			var cells kapi.Cells
			var table kapi.Table[int]
			x := new(counting)
			of, want := make(map[arch.Addr]int), make(map[uint64][]arch.Addr)
			addr := rapid.Custom(func(t *rapid.T) arch.Addr {
				return 0xffffffff81000000 + arch.Addr(rapid.IntRange(0, 300).Draw(t, "place"))*4096
			})
			table.Init(&cells, golden)
			t.Repeat(map[string]func(*rapid.T){
				"put": func(t *rapid.T) {
					at, v := addr.Draw(t, "at"), rapid.Int().Draw(t, "v")
					if _, ok := of[at]; !ok {
						h := chainOf(at, golden)
						want[h] = slices.Insert(want[h], 0, at)
					}
					of[at] = v
					table.Put(x, at, v)
				},
				"del": func(t *rapid.T) {
					at := addr.Draw(t, "at")
					h := chainOf(at, golden)
					want[h] = slices.DeleteFunc(want[h], func(a arch.Addr) bool { return a == at })
					delete(of, at)
					table.Del(x, at)
				},
				"get": func(t *rapid.T) {
					at := addr.Draw(t, "at")
					x.nodes = 0
					v, ok := table.Get(x, at)
					wantV, there := of[at]
					require.Equal(t, there, ok)
					require.Equal(t, wantV, v)
					chain := want[chainOf(at, golden)]
					nodes := len(chain)
					if there {
						nodes = slices.Index(chain, at) + 1
					}
					require.Equal(t, nodes, x.nodes)
					v, ok = table.Peek(at)
					require.Equal(t, there, ok)
					require.Equal(t, wantV, v)
					require.Equal(t, nodes, x.nodes, "who holds the lock isn't priced")
				},
				"init": func(t *rapid.T) {
					if rapid.IntRange(0, 20).Draw(t, "rarely") == 0 {
						table.Init(&cells, golden)
						clear(of)
						clear(want)
					}
				},
				"": func(t *rapid.T) { require.Equal(t, len(of), table.Len()) },
			})
		}))
	}
}
