// Package watch reviews a kernel's engine each time that its source, or its objects, are saved: kpsim watch.
//
// What it is: a loop. It waits until the files are other ones than before, has compiled what changed (package edits),
// and lets a review tell what it finds as it finds it: the small programs first, then the scenarios that come to
// what changed, then the rest. A save in the middle ends that, and it begins anew.
//
// What it is not: a build system. It knows the files that an engine is made of, and no others.
//
// Its rule: the contents of files decide, not their times or what editors do with them. So a save that changes nothing
// starts nothing, and swap files, backups and renames don't matter.
//
// # Limits
//
// Events of files come from the system (fsnotify), and files are read every two seconds beside, since not every file
// system has events. A save is taken up when nothing has happened for a tenth of a second.
package watch
