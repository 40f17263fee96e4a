// Command kpsim-campaign runs the searches of kpsim on many computers. Each verb has a file; the packages beside cmd
// do its work.
package main
