package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// process is a running kube-apiserver.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has ended and was waited for
	err  error         // how it ended; readable once done is closed
}

// startProcess starts the binary with its output appended to the file log. The
// process dies with this one where the system can see to it.
func startProcess(binary string, flags []string, log string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the child has its own handle
	p := &process{cmd: exec.Command(binary, flags...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = childAttributes()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process, which stop waits for
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// waitReady waits until the server says that it is ready and has made the
// namespace "default", which it does a moment later.
func (p *process) waitReady(ctx context.Context, config *rest.Config) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		err := ready(ctx, config)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended before it was ready: %w\n%s", errors.Join(p.err, err), logTail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("it did not become ready: %w: %w\n%s", context.Cause(ctx), err, logTail(p.log))
		case <-poll.C:
		}
	}
}

// ready asks once. The configuration is read anew each time: before the first
// start, the certificate that it names does not exist.
func ready(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}

// stop asks the process to end, and makes it end if it has not after a while: it
// takes no new requests then, but would wait a minute for open watches to end.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	patience := time.NewTimer(5 * time.Second)
	defer patience.Stop()
	select {
	case <-p.done:
		return nil
	case <-patience.C:
		return p.kill()
	}
}

// kill makes the process end now.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

func logTail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 4000
	if len(data) > most {
		data = data[len(data)-most:]
	}
	return fmt.Sprintf("the end of its log:\n%s", data)
}
