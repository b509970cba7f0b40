package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
)

// process is a running worker, seen from the coordinator.
type process struct {
	name    string
	cmd     *exec.Cmd
	in      io.Closer
	orders  *json.Encoder
	reports *json.Decoder
}

// startProcess runs this program again as a worker of the given name.
func startProcess(ctx context.Context, name string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{workerMode, "-name", name}, args...)...)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &process{name: name, cmd: cmd, in: in, orders: json.NewEncoder(in), reports: json.NewDecoder(out)}, cmd.Start()
}

// handle sends a delivery and returns the answer to it. At every point before
// the answer it asks whether the worker may live on; if not it kills it and
// reports false: the sender gets no answer.
func (p *process) handle(d Delivery, mayLive func(report) bool) (report, bool, error) {
	o := order{Delivery: &d}
	for {
		if err := p.orders.Encode(o); err != nil {
			return report{}, false, err
		}
		var r report
		if err := p.reports.Decode(&r); err != nil {
			return report{}, false, err
		}
		if !mayLive(r) {
			p.kill()
			return report{}, false, nil
		}
		if r.At == pointAnswered {
			return r, true, nil
		}
		o = order{} // go on
	}
}

// kill ends the worker as a crash would: SIGKILL, no last words.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.stop()
}

// stop hangs up, which an idle worker understands, and waits for the end.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Wait()
}
