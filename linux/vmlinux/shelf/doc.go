// Package shelf finds the kernels that lie on this computer, as scripts/fetch-kernel lays
// them: FOLDER/RELEASE/vmlinuz, and vmlinux where lines are known.
//
// What it is: the folder, what lies there, and which file a digest is of.
//
// What it is not: it opens no kernel and downloads nothing.
//
// Its rule: a release may come from a stranger's trace. It is compared with the names of
// folders that are there, and never made part of a path.
package shelf
