// Package command runs programs that consist of commands. Help, the completion of shells and the manual
// page are made from one table. Flags are those of package flag: "-db FILE", "--db=FILE", anywhere
// among the arguments.
package command
