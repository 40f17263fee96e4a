package closure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a callee would add is itself and what it reaches that isn't served; one that leads into the kernel at large is
// not walked to its end.
func TestCost(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		t.Run(series, func(t *testing.T) {
			c := of(t, series, "kprobes")
			inside, beside := len(c.Inside), len(c.Boundary)
			for i := range c.Boundary {
				b := &c.Boundary[i]
				s, ok := c.Image.Lookup(b.Addr)
				require.True(t, ok)
				alone := c.Cost(*b, func(string) bool { return true })
				require.NotZero(t, alone.Functions, b.Name)
				if alone.Functions == 1 { // it calls no further function of a set
					assert.LessOrEqual(t, uint64(alone.Instructions), s.Size, b.Name)
				}
				assert.False(t, alone.More, b.Name)
				whole := c.Cost(*b, func(string) bool { return false })
				assert.LessOrEqual(t, whole.Functions, MostCost, b.Name)
				assert.GreaterOrEqual(t, whole.Instructions, alone.Instructions, b.Name)
			}
			lock := c.Cost(*c.callee("jump_label_lock"), func(string) bool { return true })
			assert.Equal(t, Cost{Functions: 1, Instructions: lock.Instructions}, lock)
			assert.True(t, c.Cost(*c.callee("do_trap"), func(string) bool { return false }).More)
			assert.Len(t, c.Inside, inside)
			assert.Len(t, c.Boundary, beside)
		})
	}
}
