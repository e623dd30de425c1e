package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// variable has the order of a child in its environment: JSON of its kind.
const variable = "STREAMWATCH_BENCHMARK_WHOLEJOB"

// order is the work of a child.
type order struct {
	Platform   *platformOrder   `json:",omitempty"`
	Contestant *contestantOrder `json:",omitempty"`
}

// child does what the environment orders this process to do, until standard input
// ends; it is false without an order.
func child() bool {
	env := os.Getenv(variable)
	if env == "" {
		return false
	}
	var o order
	err := json.Unmarshal([]byte(env), &o)
	switch {
	case err != nil:
	case o.Platform != nil:
		err = servePlatform(*o.Platform)
	case o.Contestant != nil:
		err = runContestant(*o.Contestant)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wholejob:", err)
		os.Exit(1)
	}
	return true
}

// answers reads commands, one a line, and writes what answer gives for each as a line
// of JSON. It returns when standard input ends.
func answers(first any, answer func(command string) (any, error)) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(first); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		v, err := answer(in.Text())
		if err != nil {
			return err
		}
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return in.Err()
}

// process is a child of this program.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// start runs this program again with an order, and reads its first line into hello.
func start(o order, hello any, env ...string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program)}
	p.cmd.Env = append(append(os.Environ(), env...), variable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	out, err1 := p.cmd.StdoutPipe()
	p.in, err = p.cmd.StdinPipe() // closes with this process, however it ends
	if err := errors.Join(err, err1, p.cmd.Start()); err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.out.Decode(hello); err != nil {
		p.kill()
		return nil, fmt.Errorf("first line of a child: %w", err)
	}
	return p, nil
}

// ask sends a command and reads the answer into v.
func (p *process) ask(command string, v any) error {
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		return err
	}
	if err := p.out.Decode(v); err != nil {
		return fmt.Errorf("answer to %q: %w", command, err)
	}
	return nil
}

// stop has the child end by itself.
func (p *process) stop() error {
	p.in.Close()
	return p.cmd.Wait()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.stop()
}
