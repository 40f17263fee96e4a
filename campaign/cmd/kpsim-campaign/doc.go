// Command kpsim-campaign makes the searches of kpsim on many computers: one file a verb. What a
// verb does is in the packages beside cmd.
package main
