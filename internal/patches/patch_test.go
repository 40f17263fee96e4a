package patches_test

import (
	"encoding/base64"
	"fmt"
	"mime/quotedprintable"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/patches"
)

const (
	source = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
	diff   = "diff --git a/kernel/a.c b/kernel/a.c\nindex 1234567..89abcde 100644\n" +
		"--- a/kernel/a.c\n+++ b/kernel/a.c\n" +
		"@@ -2,3 +2,4 @@ f()\n two\n-three\n+3 = drei\n+and\n four\n"
	becomes = "one\ntwo\n3 = drei\nand\nfour\nfive\nsix\nseven\neight\n"
)

// mailOf is a mail as git format-patch writes it.
func mailOf(subject, more, body string) string {
	return "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: A B <a@b.c>\n" +
		"Date: Mon, 30 Nov 2026 10:00:00 +0100\nSubject: " + subject + "\n" + more + "\n" + body
}

func text(d string) string {
	return "Why.\n\nSigned-off-by: A B <a@b.c>\n---\n kernel/a.c | 3 ++-\n\n" + d + "-- \n2.47.3\n\n"
}

func quoted(s string) string {
	var b strings.Builder
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func base(s string) (out string) {
	all := base64.StdEncoding.EncodeToString([]byte(s))
	for len(all) > 76 {
		out, all = out+all[:76]+"\n", all[76:]
	}
	return out + all + "\n"
}

// However a patch comes, it is the same change.
func TestForms(t *testing.T) {
	const qp, b64 = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n",
		"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n"
	attached := "Content-Type: multipart/mixed; boundary=\"xx\"\n"
	parts := "--xx\nContent-Type: text/plain\n\nsee below\n--xx\nContent-Type: text/x-patch; name=a.patch\n" +
		"Content-Transfer-Encoding: base64\n\n" + base(diff) + "--xx--\n"
	plain := strings.SplitAfterN(diff, "\n", 3)[2]
	for name, c := range map[string]struct{ text, subject string }{
		"a diff":           {diff, ""},
		"without git":      {plain, ""},
		"other folders":    {strings.NewReplacer("a/kernel", "b/kernel").Replace(plain), ""},
		"CR LF":            {strings.ReplaceAll(mailOf("[PATCH] x", "", text(diff)), "\n", "\r\n"), "x"},
		"a mail":           {mailOf("[PATCH v3 1/1] kprobes: Wait\n more", "", text(diff)), "kprobes: Wait more"},
		"quoted-printable": {mailOf("=?UTF-8?q?[PATCH]_f=C3=BCr?=", qp, quoted(text(diff))), "für"},
		"base64":           {mailOf("[tip: x] [PATCH] y", b64, base(text(diff))), "y"},
		"attached":         {mailOf("z", attached, parts), "z"},
		"no first line":    {mailOf("[PATCH] x", "", text(diff))[72:], "x"},
		"git show":         {"commit 0123456789\nAuthor: A <a@b.c>\nDate:   now\n\n    words\n\n" + diff, ""},
		"quilt":            {"Index: x/kernel/a.c\n=====\n" + plain, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := patches.Read([]byte(c.text))
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, c.subject, list[0].Subject)
			tree := patches.Of(map[string]string{"kernel/a.c": source})
			done, err := tree.Apply(list[0])
			require.NoError(t, err)
			require.Equal(t, 1, done.Removed)
			require.Empty(t, done.Moved)
			got, err := tree.Text("kernel/a.c")
			require.NoError(t, err)
			require.Equal(t, becomes, string(got))
		})
	}
}

// A series is applied by its numbers; its cover letter and a reply are left out. Lines keep the patch they came from.
func TestSeries(t *testing.T) {
	second := strings.NewReplacer("@@ -2,3 +2,4 @@ f()\n two\n-three\n+3 = drei\n+and\n four\n",
		"@@ -1,2 +1,3 @@\n+zero\n one\n two\n").Replace(diff)
	mbox := mailOf("[PATCH 0/2] all", "", "What it is.\n\n") + "\n" +
		mailOf("[PATCH 2/2] the second", "", text(second)) + "\n" +
		mailOf("Re: [PATCH 2/2] the second", "", "> "+strings.ReplaceAll(second, "\n", "\n> ")+"\nLooks good.\n\n") +
		"\n" + mailOf("[PATCH 1/2] the first", "", text(diff))
	list, err := patches.Read([]byte(mbox))
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "the first", list[0].Subject)
	require.Equal(t, "0123456789abcdef0123456789abcdef01234567", list[0].Commit)
	tree := patches.Of(map[string]string{"kernel/a.c": source})
	for _, p := range list {
		_, err := tree.Apply(p)
		require.NoError(t, err)
	}
	var of []int
	for _, l := range tree.Changed()[0].Lines {
		of = append(of, l.Patch)
	}
	require.Equal(t, []int{2, 0, 0, 1, 1, 0, 0, 0, 0, 0}, of)

	_, err = patches.Read([]byte(mailOf("[PATCH 1/2] x", "", text(diff)) + "\n" +
		mailOf("[PATCH v2 1/2] x", "", text(diff))))
	require.EqualError(t, err, "it holds v1 and v2 of a series; give one of them")
}

// A hunk whose lines have moved is found, and that is said.
func TestMoved(t *testing.T) {
	list, err := patches.Read([]byte(diff))
	require.NoError(t, err)
	tree := patches.Of(map[string]string{"kernel/a.c": strings.Repeat("x\n", 40) + source})
	done, err := tree.Apply(list[0])
	require.NoError(t, err)
	require.Equal(t, []string{"hunk 1 of kernel/a.c was found 40 lines later"}, done.Moved)
	got, _ := tree.Text("kernel/a.c")
	require.Equal(t, strings.Repeat("x\n", 40)+becomes, string(got))
}

// Files can be new, deleted, renamed, without context and without a last newline.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		diff, name, text string
	}{
		"new":        {"diff --git a/n.c b/n.c\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n.c\n@@ -0,0 +1,2 @@\n+1\n+2\n", "n.c", "1\n2\n"},
		"deleted":    {"diff --git a/a.c b/a.c\ndeleted file mode 100644\nindex 1..0\n--- a/a.c\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "a.c", "-"},
		"renamed":    {"diff --git a/a.c b/c.c\nsimilarity index 50%\nrename from a.c\nrename to c.c\n--- a/a.c\n+++ b/c.c\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "c.c", "a\nB\n"},
		"no context": {"--- a/a.c\n+++ b/a.c\n@@ -1,0 +2 @@\n+x\n@@ -2 +3,0 @@\n-b\n", "a.c", "a\nx\n"},
		"no newline": {"--- a/a.c\n+++ b/a.c\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", "a.c", "a\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := patches.Read([]byte(c.diff))
			require.NoError(t, err)
			tree := patches.Of(map[string]string{"a.c": "a\nb\n"})
			_, err = tree.Apply(list[0])
			require.NoError(t, err)
			got, err := tree.Text(c.name)
			if c.text == "-" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.text, string(got))
		})
	}
}

// What doesn't apply is said with its hunk, file and line, and nothing is changed.
func TestConflicts(t *testing.T) {
	two := diff + "@@ -7,2 +8,2 @@\n seven\n-eight\n+8\n"
	for _, c := range []struct{ diff, source, says string }{
		{diff, strings.Replace(source, "three", "drei", 1), `hunk 1 of 1 of kernel/a.c:3 doesn't apply: the source has "drei" where the patch wants "three"`},
		{two, strings.Replace(source, "eight\n", "", 1), `hunk 2 of 2 of kernel/a.c:9 doesn't apply: the file ends where the patch wants "eight"`},
		{diff, becomes, `hunk 1 of 1 of kernel/a.c:2 doesn't apply: the source has this change already`},
		{strings.ReplaceAll(diff, "a.c", "b.c"), source, `the source has none of its files: kernel/b.c`},
		{strings.Replace(diff, "index 1234567..89abcde 100644\n--- a/kernel/a.c\n", "new file mode 100644\nindex 0..1\n--- /dev/null\n", 1),
			source, ""},
	} {
		list, err := patches.Read([]byte(c.diff))
		if c.says == "" { // a new file that has old lines is no diff
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		tree := patches.Of(map[string]string{"kernel/a.c": c.source})
		_, err = tree.Apply(list[0])
		require.EqualError(t, err, c.says)
		require.Empty(t, tree.Changed())
	}
}

// A hostile patch is refused, in one line.
func TestHostile(t *testing.T) {
	for name, d := range map[string]string{
		"up":       strings.ReplaceAll(diff, "kernel/a.c", "../a.c"),
		"deep up":  strings.ReplaceAll(diff, "kernel/a.c", "kernel/../../a.c"),
		"absolute": strings.ReplaceAll(strings.SplitAfterN(diff, "\n", 3)[2], "b/kernel/a.c", "/etc/passwd"),
		"git":      strings.ReplaceAll(diff, "kernel/a.c", ".git/config"),
		"symlink":  "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1234567\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
		"gitlink":  "diff --git a/l b/l\nnew file mode 160000\nindex 0000000..1234567\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+Subproject commit 0123\n",
		"device":   "diff --git a/l b/l\nnew file mode 020666\nindex 0000000..1234567\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := patches.Read([]byte(d))
			require.ErrorContains(t, err, "such a patch isn't applied")
			require.NotContains(t, err.Error(), "\n")
		})
	}
	for _, d := range []string{"", "words\n", "--- a/a.c\n+++ b/a.c\n@@ -3,3 +3,4 @@\n one\n",
		mailOf("[PATCH] x", "Content-Type: multipart/mixed; boundary=y\n", "--y\n\nx"),
		mailOf("[PATCH] x", "Content-Transfer-Encoding: base64\n", "?")} {
		_, err := patches.Read([]byte(d))
		require.Error(t, err, d)
		require.NotContains(t, err.Error(), "\n")
		require.Contains(t, err.Error(), "; give ")
	}
}

// Whatever is read, nothing panics; an error is one line; what applies has as many lines as the patch says.
func FuzzRead(f *testing.F) {
	f.Add([]byte(diff))
	f.Add([]byte(mailOf("[PATCH v2 1/2] x", "", text(diff))))
	f.Add([]byte(mailOf("x", "Content-Transfer-Encoding: base64\n", base(text(diff)))))
	f.Add([]byte(mailOf("x", "Content-Type: multipart/mixed; boundary=y\n", "--y\n\n"+diff+"\n--y--\n")))
	f.Add([]byte("diff --git a/a.c b/c.c\nsimilarity index 50%\nrename from a.c\nrename to c.c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := patches.Read(data)
		if err != nil {
			require.NotContains(t, err.Error(), "\n", fmt.Sprintf("%q", data))
			return
		}
		tree := patches.Of(map[string]string{"kernel/a.c": source, "a.c": "a\nb\n"})
		for _, p := range list {
			for _, name := range p.Names() {
				require.True(t, filepath.IsLocal(name), name)
			}
			before := len(tree.Changed())
			if _, err := tree.Apply(p); err != nil {
				require.Equal(t, before, len(tree.Changed()))
			}
		}
	})
}
