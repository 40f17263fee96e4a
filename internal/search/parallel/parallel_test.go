package parallel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each does everything once; its error is that of the job with the least
// number, whichever job failed first.
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
	const many = 1000
	bug := errors.New("bug")
	var done atomic.Int32
	defer func() {
		c, ok := recover().(*Crash)
		require.True(t, ok)
		require.Equal(t, bug, c.Value)
		require.NotEmpty(t, c.Stack)
		require.Less(t, int(done.Load()), many, "the others go on for nothing")
	}()
	_ = Each(many, func(i int) error {
		if done.Add(1); i == 3 {
			panic(bug)
		}
		time.Sleep(100 * time.Microsecond)
		return nil
	})
	t.Error("the panic is lost")
}
