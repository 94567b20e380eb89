package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// What is written: few names, so that objects come and go and meet themselves.
var (
	namespaces = []string{"a", "b"}
	colours    = []string{"red", "green", "blue"}
)

const (
	namesPerNamespace = 5
	// writeTimeout is how long a writer waits for a server that is away.
	writeTimeout = 5 * time.Second
	writerAgent  = "writer"
)

// writers write, all at the same time. What a fault does to their writes is no
// concern of theirs.
type writers struct {
	clients []corev1client.ConfigMapsGetter
	// number counts the writes.
	number atomic.Int64

	mu sync.Mutex
	// refused is a write that no server should have refused.
	refused error
}

func newWriters(w *world, n int) (*writers, error) {
	out := &writers{}
	for i := range n {
		client, err := coreClient(w.config(), fmt.Sprint(writerAgent, i))
		if err != nil {
			return nil, err
		}
		out.clients = append(out.clients, client)
	}
	return out, nil
}

// burst lets some writers write, and waits for them. Between their writes they
// pause for at most pause.
func (w *writers) burst(ctx context.Context, rnd *rand.Rand, most int, pause time.Duration) {
	var writing sync.WaitGroup
	for _, client := range w.clients[:1+rnd.IntN(len(w.clients))] {
		mine := rand.New(rand.NewPCG(rnd.Uint64(), 0))
		writing.Go(func() {
			for range 1 + mine.IntN(most) {
				if pause > 0 && mine.IntN(2) == 0 {
					time.Sleep(time.Duration(mine.Int64N(int64(pause))))
				}
				w.note(w.write(ctx, client, mine))
			}
		})
	}
	writing.Wait()
}

// note keeps an error that says that the writer itself is at fault.
func (w *writers) note(err error) {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.refused = err
	}
}

// write does one thing, which makes at most two changes.
func (w *writers) write(ctx context.Context, client corev1client.ConfigMapsGetter, rnd *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	maps := client.ConfigMaps(namespaces[rnd.IntN(len(namespaces))])
	name := fmt.Sprint("m", rnd.IntN(namesPerNamespace))
	switch n := rnd.IntN(10); {
	case n < 2:
		return maps.Delete(ctx, name, metav1.DeleteOptions{})
	case n < 4: // another object under the same name
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		_, err := maps.Create(ctx, w.object(name, rnd), metav1.CreateOptions{})
		return err
	}
	obj := w.object(name, rnd)
	patch, err := patchTo(obj)
	if err != nil {
		return err
	}
	_, err = maps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, obj, metav1.CreateOptions{})
	}
	return err
}

func (w *writers) object(name string, rnd *rand.Rand) *corev1.ConfigMap {
	number := strconv.FormatInt(w.number.Add(1), 10)
	data := make(map[string]string)
	if rnd.IntN(5) == 0 {
		number += poisonSuffix
		data[poisonKey] = poisonValue
	}
	data["write"] = number
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{colourLabel: colours[rnd.IntN(len(colours))]},
			Annotations: map[string]string{writeAnnotation: number},
		},
		Data: data,
	}
}

// patchTo returns the merge patch that makes any object obj.
func patchTo(obj *corev1.ConfigMap) ([]byte, error) {
	data := map[string]any{poisonKey: nil}
	for key, value := range obj.Data {
		data[key] = value
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": obj.Labels, "annotations": obj.Annotations},
		"data":     data,
	})
}
