//go:build unix

package cli

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// names are the files of a folder.
func names(t *testing.T, dir string) (list []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// A symbolic link stays, and what it leads to is written, whether it is there or not, and from
// whichever folder; of a circle of links nothing is written.
func TestWriteThroughLinks(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"deep", "deep/er", "store"} {
		require.NoError(t, os.Mkdir(in(d), 0o755))
	}
	require.NoError(t, os.WriteFile(in("store/there"), []byte("old"), 0o640))
	for link, to := range map[string]string{
		"there": "store/there", "new": "store/new", "chain": "there", "absolute": in("store/absolute"),
		"folder": "deep/er", "deep/er/up": "../up", "one": "other", "other": "one", "nowhere": "none/file",
	} {
		require.NoError(t, os.Symlink(to, in(link)))
	}
	for path, file := range map[string]string{
		"there": "store/there", "new": "store/new", "chain": "store/there", "absolute": "store/absolute",
		"folder/up": "deep/up",
	} {
		require.NoError(t, FileName(in(path)).Check(), path)
		require.NoError(t, WriteWhole(in(path), []byte(path)), path)
		require.Equal(t, path, content(t, in(file)), path)
		s, err := os.Lstat(in(path))
		require.NoError(t, err)
		require.NotZero(t, s.Mode()&os.ModeSymlink, path)
	}
	for path, want := range map[string]string{"one": "symbolic links", "nowhere": "none: no such file or directory"} {
		require.ErrorContains(t, FileName(in(path)).Check(), want)
		require.Error(t, WriteWhole(in(path), nil))
	}
	require.Equal(t, []string{"absolute", "new", "there"}, names(t, in("store")))
	s, err := os.Stat(in("store/there"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), s.Mode().Perm(), "its permissions stay")

	t.Chdir(in("deep/er"))
	require.NoError(t, WriteWhole("up", []byte("from here")))
	require.Equal(t, "from here", content(t, in("deep/up")))
}

// A new file has the permissions that the user's mask leaves it, or is the user's alone.
func TestWriteMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := t.TempDir()
	for name, want := range map[string]os.FileMode{"shared": 0o640, "private": 0o600} {
		path := filepath.Join(dir, name)
		write := WriteWhole
		if name == "private" {
			write = WritePrivate
		}
		require.NoError(t, write(path, nil))
		s, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, s.Mode().Perm(), name)
	}
}

// What is read-only isn't replaced: its permissions say so.
func TestWriteReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "kept")
	require.NoError(t, os.WriteFile(path, []byte("kept"), 0o444))
	require.ErrorContains(t, FileName(path).Check(), "kept: permission denied; name a file that can be written to")
	require.Error(t, WriteWhole(path, []byte("new")))
	require.Equal(t, "kept", content(t, path))
	require.Equal(t, []string{"kept"}, names(t, dir))
}

// A pipe gets all that is written once its reader is there; without one that is an error, and
// soon. The pipe stays one, and its reader sees one end.
func TestWritePipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	require.NoError(t, FileName(path).Check())
	begun := time.Now()
	require.ErrorContains(t, WriteWhole(path, nil), "is a pipe that nothing reads")
	require.Less(t, time.Since(begun), 10*time.Second)

	large := strings.Repeat("more than a pipe holds\n", 50_000)
	got := make(chan string)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			close(got)
			return
		}
		data, _ := io.ReadAll(f)
		got <- string(data)
	}()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, FileName(path).Check())
	require.NoError(t, WriteWhole(path, []byte(large)))
	require.Equal(t, large, <-got)
	s, err := os.Lstat(path)
	require.NoError(t, err)
	require.NotZero(t, s.Mode()&os.ModeNamedPipe)
	require.Equal(t, []string{"pipe"}, names(t, dir))
}

// A device is written to and stays one: that of this computer, or one with its number.
func TestWriteDevice(t *testing.T) {
	dir := t.TempDir()
	full := "/dev/full"
	// not the computer's own, if that may be
	if syscall.Mknod(filepath.Join(dir, "full"), syscall.S_IFCHR|0o666, 1<<8|7) == nil {
		full = filepath.Join(dir, "full")
	} else if s, err := os.Stat(full); err != nil || s.Mode()&os.ModeCharDevice == 0 {
		t.Skip("there is no such device")
	}
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(full, link))
	require.NoError(t, FileName("/dev/null").Check())
	require.NoError(t, WriteWhole("/dev/null", []byte("gone")))
	for _, path := range []string{full, link} {
		require.NoError(t, FileName(path).Check())
		if err := WriteWhole(path, []byte("no room")); err != nil { // a sandbox may have no such rights
			require.Regexp(t, "no space left|permission denied", err.Error())
		} else {
			t.Errorf("%s was written to", path)
		}
		s, err := os.Stat(path)
		require.NoError(t, err)
		require.NotZero(t, s.Mode()&os.ModeCharDevice, path)
	}
	s, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, s.Mode()&os.ModeSymlink)
}

// A socket and a folder are refused, before and when they are to be written.
func TestWriteRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // names of sockets are short
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Mkdir("folder", 0o755))
	for path, want := range map[string]string{"socket": "socket: is a socket, which can't be written to by its name; name a file", "folder": "folder: is a directory; name a file"} {
		require.EqualError(t, FileName(path).Check(), want)
		require.Error(t, WriteWhole(path, []byte("x")))
	}
	require.ElementsMatch(t, []string{"folder", "socket"}, names(t, dir))
}

// The file that standard output goes to is written by it: what was printed before and after
// stays.
func TestWriteStandardOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	was := os.Stdout
	os.Stdout = f
	defer func() { os.Stdout = was }()
	_, err = f.WriteString("before\n")
	require.NoError(t, err)
	require.NoError(t, FileName(path).Check())
	require.NoError(t, WriteWhole(path, []byte("page\n")))
	_, err = f.WriteString("after\n")
	require.NoError(t, err)
	require.Equal(t, "before\npage\nafter\n", content(t, path))
}

// A page that wasn't asked for isn't looked for in a folder that can't be written to.
func TestNoPage(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Remove(dir)) // not even root can write here
	require.NoError(t, FileName("").CheckPage())
	require.ErrorContains(t, FileName("page.html").CheckPage(), "--html: page.html: ")
}
