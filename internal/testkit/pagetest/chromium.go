package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png" // what screenshots are
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browsers are the names that Chromium goes by.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// Flags are those that a browser is started with, without their hyphens.
var Flags = []string{
	"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
	"disable-component-update", "disable-sync", "hide-scrollbars",
}

// openTimeout is for a computer that has much else to do.
const openTimeout = 2 * time.Minute

// An Opened is what a browser made of a page.
type Opened struct {
	DOM     string      // as HTML
	Console []string    // what it complained of
	Picture image.Image // of the top of the page
}

// Open opens a page in a headless Chromium whose window has the given size in pixels. Without a
// Chromium the test is skipped.
func Open(t testing.TB, file string, width, height int) *Opened {
	t.Helper()
	path, file := located(t, file)
	shot := filepath.Join(t.TempDir(), "page.png")
	dom, console := browse(t, path, file, "--dump-dom", fmt.Sprintf("--window-size=%d,%d", width, height),
		"--screenshot="+shot)
	f, err := os.Open(shot)
	require.NoError(t, err)
	defer f.Close()
	picture, _, err := image.Decode(f)
	require.NoError(t, err)
	return &Opened{DOM: dom, Console: console, Picture: picture}
}

// sheet is how a PDF of Chromium's begins a page.
var sheet = regexp.MustCompile(`/Type /Page\b[^s]`)

// Sheets prints a page as the browser does by itself, and returns how many sheets it takes, 1 or more. Without a
// Chromium the test is skipped.
func Sheets(t testing.TB, file string) int {
	t.Helper()
	path, file := located(t, file)
	printed := filepath.Join(t.TempDir(), "page.pdf")
	browse(t, path, file, "--print-to-pdf="+printed, "--no-pdf-header-footer")
	b, err := os.ReadFile(printed)
	require.NoError(t, err)
	n := len(sheet.FindAll(b, -1))
	require.Positive(t, n, "there is no sheet in the PDF")
	return n
}

// located returns where the browser and a page are. Without a Chromium the test is skipped.
func located(t testing.TB, file string) (browser, page string) {
	t.Helper()
	browser, err := Chromium()
	if err != nil {
		t.Skip(err)
	}
	page, err = filepath.Abs(file)
	require.NoError(t, err)
	return browser, page
}

// Chromium returns where the browser is. The error says that there is none.
func Chromium() (path string, err error) {
	for _, name := range browsers {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium to open a page: there is none of %s", strings.Join(browsers, ", "))
}

// browse runs the browser once: what it prints, and the messages of the page.
func browse(t testing.TB, browser, file string, flags ...string) (out string, console []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	args := []string{"--enable-logging=stderr", "--v=0", "--user-data-dir=" + t.TempDir()}
	for _, f := range Flags {
		args = append(args, "--"+f)
	}
	c := exec.CommandContext(ctx, browser, append(append(args, flags...), "file://"+filepath.ToSlash(file))...)
	c.WaitDelay = 10 * time.Second // for those that it has started
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	require.NoError(t, c.Run(), "%s", &stderr)
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, ":CONSOLE") {
			console = append(console, strings.TrimSpace(line))
		}
	}
	return stdout.String(), console
}
