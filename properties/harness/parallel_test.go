package harness

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each does everything once; its error is that of the least number, whoever was first.
func TestEach(t *testing.T) {
	for n := range 70 {
		times := make([]int, n)
		require.NoError(t, Each(n, func(i int) error { times[i]++; return nil }))
		for i := range times {
			require.Equal(t, 1, times[i])
		}
	}
	done := make([]bool, 50)
	err := Each(len(done), func(i int) error {
		if done[i] = true; i%10 == 7 {
			return fmt.Errorf("number %d", i)
		}
		return nil
	})
	require.EqualError(t, err, "number 7")
	require.NotContains(t, done, false)
}

func TestEachPanics(t *testing.T) {
	bug := errors.New("bug")
	defer func() {
		c, ok := recover().(*Crash)
		require.True(t, ok)
		require.Equal(t, bug, c.Value)
		require.NotEmpty(t, c.Stack)
	}()
	_ = Each(10, func(i int) error {
		if i == 3 {
			panic(bug)
		}
		return nil
	})
	t.Error("the panic is lost")
}
