package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// kgdb_has_hit_break asks the debugger, if there is one.
func TestHasHitBreak(t *testing.T) {
	row := rowOf("kgdb_has_hit_break")
	e := &Linux{}
	require.Zero(t, row.do(e, nil, &args{0xffffffff81000004}))
	e.d = engine.Deps{Debugger: func(_ kapi.Context, at arch.Addr) bool { return at == 0xffffffff81000004 }}
	require.Equal(t, uint64(1), row.do(e, nil, &args{0xffffffff81000004}))
	require.Zero(t, row.do(e, nil, &args{0xffffffff81000005}))
}
