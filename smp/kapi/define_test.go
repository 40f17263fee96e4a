package kapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/kapi"
)

// What engines define neither takes another's number nor lies over another's stub.
func TestDefine(t *testing.T) {
	const own = kapi.WorkKinds - 1
	require.Empty(t, kapi.Work(own).String())
	kapi.DefineWork(own, "a test's", 7)
	require.Equal(t, "a test's", kapi.Work(own).String())
	require.Equal(t, 7, kapi.Work(own).Nominal())
	require.Panics(t, func() { kapi.DefineWork(own, "another", 1) })
	require.Panics(t, func() { kapi.DefineWork(kapi.WorkLock, "another", 1) })

	kapi.DefineStub(kapi.Stub{Name: "a test's", Offset: 0x800, Size: 16})
	require.Panics(t, func() { kapi.DefineStub(kapi.Stub{Name: "a test's", Offset: 0x900, Size: 1}) })
	require.Panics(t, func() { kapi.DefineStub(kapi.Stub{Name: "over it", Offset: 0x80f, Size: 1}) })
	require.Panics(t, func() { kapi.DefineStub(kapi.Stub{Name: "no room", Offset: kapi.StubRoom - 1, Size: 2}) })
	require.Len(t, kapi.Stubs(), 1)
}
