package survey_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
)

// kernelWrong are rows in which the kernel is plainly wrong. libarc4 was loaded where
// jbd2's init text had been, and the table of BUGs still had jbd2's entries for that
// text: both places are refused as BUGs.
var kernelWrong = map[string]bool{"libarc4 arc4_setkey 15": true, "libarc4 arc4_setkey 97": true}

// behindText are rows about an instruction that extends beyond the module's text, into
// its data, which isn't part of an image.Module.
var behindText = map[string]bool{"lz4_compress LZ4_resetStream 63": true}

// TestRealModules compares the recorded answers of two kernels about every byte of
// functions of their own modules (testdata/*_real.csv.gz) with the survey of the
// module's file. KPSIM_MODULES names the folder that scripts/fetch-modules has filled;
// the rows are of linux-image-6.1.0-56-amd64 and 6.12.113+deb12-amd64.
func TestRealModules(t *testing.T) {
	dir := os.Getenv("KPSIM_MODULES")
	if dir == "" {
		t.Skip("SKIPPED: KPSIM_MODULES isn't set: no kernel modules to compare with; see scripts/fetch-modules")
	}
	for _, test := range []struct {
		name    string
		version string
		kernel  rules.Kernel
		oneCPU  bool // the machine had its lock prefixes patched away
	}{{"k61", "6.1.0-56-amd64", rules.K61, true}, {"k612", "6.12.113+deb12-amd64", rules.K612, false}} {
		t.Run(test.name, func(t *testing.T) {
			rows := readReal(t, filepath.Join("testdata", test.name+"_real.csv.gz"))
			features := image.StockBoot.Features
			if test.oneCPU {
				features += ",up"
			}
			compared, absent := 0, make(map[string]bool)
			var s *survey.Survey
			var sym *image.Symbol
			var got map[int]survey.Row
			last := [2]string{}
			for _, r := range rows {
				if r[0] != last[0] {
					s = loadModule(t, filepath.Join(dir, test.name), r[0], test.version, features, test.kernel,
						test.oneCPU)
					last[1] = ""
				}
				if r[1] != last[1] && s != nil {
					var ok bool
					sym, ok = s.Module.Symbol(r[1])
					require.True(t, ok, "%s has no %s", r[0], r[1])
					got = make(map[int]survey.Row)
					for _, row := range s.Rows(sym, true) {
						got[row.Offset] = row
					}
				}
				last = [2]string{r[0], r[1]}
				if s == nil {
					absent[r[0]] = true
					continue
				}
				if key := strings.Join(r[:3], " "); kernelWrong[key] || behindText[key] {
					continue
				}
				compared++
				check(t, r, got)
			}
			t.Logf("%d rows agree; %d modules of the recording aren't there", compared, len(absent))
			if compared == 0 {
				t.Skipf("SKIPPED: no module of %s that was recorded is in %s", test.version,
					filepath.Join(dir, test.name))
			}
		})
	}
}

func check(t *testing.T, r []string, got map[int]survey.Row) {
	n := func(i int) int {
		v, err := strconv.Atoi(r[i])
		require.NoError(t, err)
		return v
	}
	row := got[n(2)]
	require.Equal(t, n(3), row.Errno, "%v: errno; %s", r, row.Why.In(r[1]))
	if row.Errno != 0 {
		return
	}
	require.Equal(t, r[4] == "1", row.Optimizable(), "%v: optimized; %s", r, row.Why.In(r[1]))
	require.Equal(t, r[5] == "1", row.Ftrace, "%v: ftrace", r)
	require.Equal(t, n(7), row.Delta, "%v: delta", r)
	if !row.Ftrace {
		require.Equal(t, n(6), row.Len, "%v: length", r)
	}
}

// loadModule loads a module of a folder; nil if it isn't there, or of another
// kernel. The kernel knows it by its file's name with _ for -.
func loadModule(t *testing.T, dir, name, version, features string, k rules.Kernel, oneCPU bool) *survey.Survey {
	files, err := filepath.Glob(filepath.Join(dir, "*.ko"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".ko"), "-", "_") != name {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if !bytes.Contains(data, []byte("vermagic="+version+" ")) {
			return nil
		}
		o, err := image.ParseELF(file, data)
		require.NoError(t, err)
		boot := image.StockBoot
		boot.Features = features
		m, err := o.Load(0xffffffffc0000000, boot, nil)
		require.NoError(t, err)
		s := survey.New(m, k)
		s.OneCPU = oneCPU
		return s
	}
	return nil
}

func readReal(t *testing.T, path string) [][]string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	rows, err := csv.NewReader(z).ReadAll()
	require.NoError(t, err)
	return rows[1:]
}
