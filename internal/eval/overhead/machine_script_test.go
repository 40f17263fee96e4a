package overhead

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/smp/cycles"
)

const measureProbes = "../../../scripts/measure-probes"

// fromSamples returns what scripts/measure-probes prints for timings that were kept, and its exit status.
func fromSamples(t *testing.T, samples string) (out, errors string, status int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.samples")
	require.NoError(t, os.WriteFile(file, []byte(samples), 0o644))
	return measureScript(t, "--from", file)
}

func measureScript(t *testing.T, args ...string) (out, errors string, status int) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	var o, e bytes.Buffer
	c := exec.CommandContext(t.Context(), measureProbes, args...)
	c.Stdout, c.Stderr = &o, &e
	err := c.Run()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

const sampleMeta = "meta\tname\tA box\nmeta\tarch\tx86_64\nmeta\tmhz\t3000\nmeta\tkernel\tLinux 6.1\n" +
	"meta\tfunction\tvfs_write+0x9\nmeta\tcalls\t1000\nmeta\tplain\tk\nmeta\tentry\tftrace\n" +
	"meta\tbase\t0.2000\nmeta\tbatch\t8\nmeta\thow\ton CPU 1\n"

// sampled is a line of --samples: usec is what each hit took more; repeats have different numbers of hits.
func sampled(kind string, repeat int, usec float64) string {
	hits := 1000 + 100*(repeat%3)
	return fmt.Sprintf("sample\t%s\t%d\t%d\t0\t%.0f\t200000\n", kind, repeat, hits, 200_000+1000*float64(hits)*usec)
}

// By hand: the figures are medians, those of a return probe by ftrace are sums of each repeat, and what calibrate reads
// is whole.
func TestMeasuredFigures(t *testing.T) {
	samples := sampleMeta
	for i := range 7 {
		wobble := 0.001 * float64(i)
		samples += sampled("k", i, 0.5+wobble) + sampled("o", i, 0.1+wobble) + sampled("f", i, 0.2-wobble) +
			sampled("R", i, 0.35+wobble)
	}
	out, errors, status := fromSamples(t, samples)
	require.Zero(t, status, errors)
	for _, want := range []string{
		"\nA box,x86_64,3000,4.15,k,0.5030\nA box,x86_64,3000,4.15,o,0.1030\n" +
			"A box,x86_64,3000,4.15,r,0.6590\nA box,x86_64,3000,4.15,ro,0.2590\n",
		"\n# kprobe (k): 0.5030 µs, 95 % 0.5000 to 0.5060, quartiles 0.5015 to 0.5045\n",
	} {
		require.Contains(t, out, want)
	}
	figures, err := ReadFigures("mine.csv", out)
	require.NoError(t, err)
	require.Len(t, figures, 4)
	_, err = Fit(figures)
	require.NoError(t, err)

	direct := strings.NewReplacer("ftrace", "optimizable", "plain\tk", "plain\tb", "sample\tk", "sample\tb",
		"sample\tf", "sample\tRO").Replace(samples)
	out, _, _ = fromSamples(t, direct)
	require.Contains(t, out, ",b,0.5030\nA box,x86_64,3000,4.15,o,0.1030\n"+
		"A box,x86_64,3000,4.15,rb,0.3530\nA box,x86_64,3000,4.15,ro,0.1970\n")
}

// A file that isn't whole, or isn't one, is one line of error and status 2; and so are options.
func TestMeasuredErrors(t *testing.T) {
	for samples, want := range map[string]string{
		"":                               "is missing; was it written to its end?",
		sampleMeta + "sample\tk\t1\t2\n": "line 12: it is no line of --samples",
		sampleMeta + "sample\tk\t1\t0\t0\t1\t1\n":            "line 12: a timing is not in numbers",
		sampleMeta + "time\tarm\tsoon\n":                     "line 12: a time is no number",
		sampleMeta + sampled("k", 1, 1) + sampled("k", 1, 1): "line 13: repeat 1 of k is there twice",
		sampleMeta: "no probe could be measured",
	} {
		out, errors, status := fromSamples(t, samples)
		require.Equal(t, 2, status, samples)
		require.Contains(t, errors, want)
		require.Equal(t, 1, strings.Count(errors, "\n"), errors)
		require.NotContains(t, out, "usec")
	}
	for args, want := range map[string]string{
		"--repeats 0":     "--repeats 0: give a number from 1 to 1000",
		"--seconds 11":    "--seconds 11: give a number from 0.01 to 10",
		"--seconds 0.001": "--seconds 0.001: give a number from 0.01 to 10",
		"--cpu x":         "--cpu x: give a number",
		"--name a,b":      "--name a,b: give letters, digits and spaces",
		"--mhz":           "--mhz wants a value; --help has examples",
		"--fast":          "no option --fast: --help has them",
		"--from nowhere":  "--from nowhere: can't read it",
	} {
		_, errors, status := measureScript(t, strings.Fields(args)...)
		require.Equal(t, 2, status, args)
		require.Contains(t, errors, want)
		require.Equal(t, 1, strings.Count(errors, "\n"), errors)
	}
	out, _, status := measureScript(t, "--help")
	require.Zero(t, status)
	require.Contains(t, out, "exit status: 0")
}

var medianLine = regexp.MustCompile(`(?m)^# kprobe \(k\): (\S+) µs, 95 % (\S+) to (\S+), quartiles (\S+) to (\S+)$`)

// The script's quantiles are those of gonum, and its interval of a median holds it, whatever the distribution: here one
// with a long tail.
func TestMeasuredCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	var n covered
	for range thorough.Of(150, 3000) {
		samples, list := sampleMeta, []float64{}
		for i := range 15 { // --repeats
			v := math.Round(1e6*(0.5+0.05*math.Exp(rng.NormFloat64()))) / 1e6
			list = append(list, v)
			samples += sampled("k", i, v)
		}
		out, errors, status := fromSamples(t, samples)
		require.Zero(t, status, errors)
		var got [5]float64
		m := medianLine.FindStringSubmatch(out)
		require.NotNil(t, m, out)
		for i := range got {
			_, err := fmt.Sscan(m[i+1], &got[i])
			require.NoError(t, err)
		}
		slices.Sort(list)
		for i, q := range map[int]float64{0: 0.5, 3: 0.25, 4: 0.75} {
			k, part := math.Modf(14 * q)
			require.InDelta(t, list[int(k)]+part*(list[int(k)+1]-list[int(k)]), got[i], 1e-4)
		}
		require.InDelta(t, stat.Quantile(0.5, stat.Empirical, list, nil), got[0], 1e-4)
		n.add(Interval{got[1], got[2]}, 0.55)
	}
	n.within(t, 0.95, "median of 15 repeats by scripts/measure-probes")
}

// guestScript tries measure-probes in a machine: each part of its output begins with a line "== NAME", and ends with
// the exit status.
const guestScript = `
m() { echo "== $1"; shift; "$@" </dev/null; echo "status $?"; }
left() {
	echo "== left after $1"
	cat /sys/kernel/tracing/kprobe_events /sys/kernel/debug/kprobes/list /proc/sys/debug/kprobes-optimization
}
[ -z "$locked" ] || { m locked bash /measure-probes; exit; }
m measured bash /measure-probes --seconds 0.05 --repeats 7 --samples /tmp/samples
left measured
[ -z "$brief" ] || exit
m again bash /measure-probes --from /tmp/samples
echo 0 >/proc/sys/debug/kprobes-optimization
m interrupted timeout -s INT 3 bash /measure-probes --repeats 1000
left interrupted
m terminated timeout -s TERM 3 bash /measure-probes --repeats 1000
left terminated
(sleep 4; echo 0 >/sys/kernel/debug/kprobes/enabled) &
m switched bash /measure-probes --repeats 1000
wait
left switched
m off bash /measure-probes
echo 1 >/sys/kernel/debug/kprobes/enabled
m cpu bash /measure-probes --cpu 99
mkdir /fake; printf '#!/bin/sh\necho 1000\n' >/fake/id; chmod +x /fake/id
m user env PATH=/fake:$PATH bash /measure-probes
umount /sys/kernel/debug
m debugfs bash /measure-probes --seconds 0.01 --repeats 1 --batch 1
mount | grep -c debugfs
mkdir /bare; cp /init /bare/README; mount --bind /bare /sys/kernel/tracing
m out bash /measure-probes
`

// Under an emulator the whole way works: the script measures, what it prints is read and fitted, nothing of it is left,
// whether it ends by itself, is interrupted or fails, and each thing that is missing is one line and status 2. With a
// clock that counts instructions the figures are repeatable; they are no machine's.
func TestMeasureProbesEmulated(t *testing.T) {
	thorough.Only(t, "a minute in an emulator: TestMeasuredFigures has what the script makes of timings")
	kernel := kerneltest.Path(t, "6.12")
	parts := emulate(t, kernel, guestScript, "")

	csv, rest := parts["measured"], parts["left after measured"]
	require.Contains(t, csv, "status 0", parts)
	csv = csv[:strings.Index(csv, "status 0")]
	figures, err := ReadFigures("mine.csv", csv)
	require.NoError(t, err, csv)
	usec := make(map[string]float64)
	for _, f := range figures {
		usec[f.Probe.Name] = f.Usec
	}
	t.Log(csv)
	require.Len(t, usec, 4)
	require.Less(t, usec["o"], usec["k"], "a jump is cheaper than a breakpoint")
	require.InDelta(t, usec["r"]-usec["k"], usec["ro"]-usec["o"], 0.02, "a return costs the same after both")
	o, err := Fit(figures)
	require.NoError(t, err)
	u, err := o.UserProfile(figures[0].Machine, Calibrated)
	require.NoError(t, err)
	_, err = ReadProfile("mine.profile", u.Text(func(e cycles.Event) string { return "" }))
	require.NoError(t, err)
	require.Equal(t, "1\n", rest)
	require.Equal(t, csv+"status 0\n", parts["again"])

	for part, want := range map[string]string{
		"interrupted": "interrupted: the events are taken away\nstatus 130\n",
		"terminated":  "interrupted: the events are taken away\nstatus 130\n",
		"switched":    "is another tool switching probes off?\nstatus 2\n",
		"off":         "probes are switched off: echo 1 > /sys/kernel/debug/kprobes/enabled\nstatus 2\n",
		"cpu":         "--cpu 99: there is no such CPU for this process; online are 0-1\nstatus 2\n",
		"user":        "only root may put probes: run it with sudo\nstatus 2\n",
		"out": "the kernel is built without CONFIG_KPROBES or CONFIG_KPROBE_EVENTS; boot one that has them\n" +
			"status 2\n",
		"debugfs": "status 0\n0\n",
	} {
		require.True(t, strings.HasSuffix(parts[part], want), "%s: %s", part, parts[part])
		if left, ok := parts["left after "+part]; ok {
			require.Equal(t, "0\n", left, "after %s: the events are away, and the sysctl is as it was", part)
		}
	}
	for _, newer := range kerneltest.Files("7.3") { // where an event is busy for a moment after its trigger has gone
		parts := emulate(t, newer, guestScript, "brief=1")
		require.Contains(t, parts["measured"], ",4.15,ro,", newer)
		require.Contains(t, parts["measured"], "status 0")
		require.Equal(t, "1\n", parts["left after measured"])
	}
	locked := emulate(t, kernel, guestScript, "lockdown=confidentiality locked=1")
	require.Equal(t, "measure-probes: the kernel is locked down (confidentiality) and refuses probes: "+
		"boot without lockdown=confidentiality\nstatus 2\n", locked["locked"])
}

// emulate boots a kernel with a script, and returns the parts of its output.
func emulate(t *testing.T, kernel, script, words string) map[string]string {
	t.Helper()
	const qemu = "qemu-system-x86_64"
	if _, err := exec.LookPath(qemu); err != nil {
		t.Skipf("no %s here: apt-get install qemu-system-x86", qemu)
	}
	initrd := filepath.Join(t.TempDir(), "initrd.gz")
	require.NoError(t, os.WriteFile(initrd, userland(t, script), 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// An instruction takes a nanosecond of the guest's clock.
	out, err := exec.CommandContext(ctx, qemu, "-accel", "tcg", "-icount", "shift=0,sleep=off", "-cpu", "max,la57=off",
		"-smp", "2", "-m", "1024", "-nodefaults", "-nographic", "-no-reboot", "-net", "none", "-monitor", "none",
		"-serial", "stdio", "-kernel", kernel, "-initrd", initrd,
		"-append", "console=ttyS0 no_timer_check panic=-1 loglevel=1 "+words).Output()
	require.NoError(t, err, "%s", out)
	parts := make(map[string]string)
	for _, part := range strings.Split(strings.ReplaceAll(string(out), "\r", ""), "== ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
	}
	require.Contains(t, parts, "end", "%s", out)
	return parts
}

// userland is an initial file system with a distribution's tools, as they are here, and busybox for the rest.
func userland(t *testing.T, script string) []byte {
	t.Helper()
	a := &archive{seen: make(map[string]bool)}
	for _, d := range []string{"/bin", "/proc", "/sys", "/dev", "/tmp"} {
		a.add(d, 0o40755, nil)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no busybox here: apt-get install busybox-static")
	}
	a.copy(t, busybox, "/bin/busybox")
	library := regexp.MustCompile(`/\S+`)
	for _, tool := range []string{"bash", "dd", "awk", "date", "taskset", "env"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		a.copy(t, path, "/bin/"+tool)
		out, err := exec.CommandContext(t.Context(), "ldd", path).Output()
		require.NoError(t, err)
		for _, lib := range library.FindAllString(string(out), -1) {
			a.copy(t, lib, lib)
		}
	}
	a.copy(t, measureProbes, "/measure-probes")
	a.add("/init", 0o100755, []byte(`#!/bin/busybox sh
for a in $(/bin/busybox --list); do [ -e /bin/$a ] || /bin/busybox ln -s busybox /bin/$a; done
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug; mount -t tracefs trace /sys/kernel/tracing
sh /guest.sh 2>&1 | cat
echo "== end"
poweroff -f
`))
	a.add("/guest.sh", 0o100644, []byte(script))
	a.add("/TRAILER!!!", 0, nil)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(a.Bytes())
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// An archive is one of cpio's, in the form "newc" that a kernel unpacks.
type archive struct {
	bytes.Buffer
	seen map[string]bool
}

func (a *archive) copy(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	a.add(to, 0o100755, b)
}

// add adds a file, and the folders that it is in.
func (a *archive) add(path string, mode int, b []byte) {
	if a.seen[path] {
		return
	}
	a.seen[path] = true
	if d := filepath.Dir(path); d != "/" {
		a.add(d, 0o40755, nil)
	}
	name := strings.TrimPrefix(path, "/") + "\x00"
	fmt.Fprintf(a, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", len(a.seen), mode, 0, 0, 1, 0,
		len(b), 0, 0, 0, 0, len(name), 0)
	a.WriteString(name)
	a.pad()
	a.Write(b)
	a.pad()
}

func (a *archive) pad() { a.Write(make([]byte, -a.Len()&3)) }
