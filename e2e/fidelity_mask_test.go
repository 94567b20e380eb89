package e2e

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// masks make the answers of two servers comparable. They replace what is chosen
// by each server for itself:
//
//   - resource versions, by the order in which they were first seen; the
//     version of a list or a bookmark by "now" if no object seen so far is newer,
//     as other writers move the one of the genuine server;
//   - UIDs, in the same way; times; continue tokens; generated names;
//   - within messages: numbers of versions, generated names, and whole objects
//     that are quoted as a bad value;
//   - managedFields, which ours does not track;
//   - status.qosClass of pods, a default of that kind;
//   - bookmarks other than the end of the initial events, as they are sent by
//     the clock.
type masks struct {
	versions map[string]string
	uids     map[string]string
	newest   uint64
}

func newMasks() *masks {
	return &masks{versions: map[string]string{}, uids: map[string]string{}}
}

var (
	uidPattern     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern    = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	quotedPattern  = regexp.MustCompile(`"\{\\".*\}"`)
	suffixPattern  = regexp.MustCompile(`\bA_[a-z0-9]{5}\b`)
	versionPattern = regexp.MustCompile(`(current: |ResourceVersion in record \(|too old resource version: \d+ \()\d+`)
)

// apply masks a decoded body, which it changes.
func (m *masks) apply(body any) any {
	switch body := body.(type) {
	case []any:
		out := make([]any, 0, len(body))
		for _, element := range body {
			if masked := m.apply(element); !isPlainBookmark(masked) {
				out = append(out, masked)
			}
		}
		return out
	case map[string]any:
		return m.object(body)
	case string:
		return m.text(body)
	}
	return body
}

// object masks a JSON object. Its fields are visited in the order of their
// names, and metadata of a list last, for the sake of the versions.
func (m *masks) object(body map[string]any) any {
	_, isList := body["items"]
	delete(body, "managedFields")
	for _, key := range slices.Sorted(maps.Keys(body)) {
		switch value, isText := body[key].(string); {
		case key == "metadata" && isList:
		case key == "qosClass":
			delete(body, key)
		case key == "resourceVersion" && isText:
			body[key] = m.version(value)
		case key == "continue" && value != "":
			body[key] = "<token>"
		case key == "name" && body["generateName"] != nil && strings.HasPrefix(value, fmt.Sprint(body["generateName"])):
			body[key] = fmt.Sprint(body["generateName"]) + "<suffix>"
		case key == "object" && body["type"] == "BOOKMARK":
			m.moment(body[key])
			body[key] = m.apply(body[key])
		default:
			body[key] = m.apply(body[key])
		}
	}
	if isList {
		m.moment(body)
		body["metadata"] = m.apply(body["metadata"])
	}
	return body
}

// moment masks the version of a list or a bookmark.
func (m *masks) moment(obj any) {
	body, _ := obj.(map[string]any)
	meta, _ := body["metadata"].(map[string]any)
	version, _ := meta["resourceVersion"].(string)
	if number, err := strconv.ParseUint(version, 10, 64); err == nil && number >= m.newest {
		meta["resourceVersion"] = "now"
	}
}

// version names the version of an object.
func (m *masks) version(version string) string {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return version
	}
	m.newest = max(m.newest, number)
	return named(m.versions, version, "version")
}

// named gives each value a name with a number.
func named(names map[string]string, value, word string) string {
	if names[value] == "" {
		names[value] = fmt.Sprintf("<%s %d>", word, len(names)+1)
	}
	return names[value]
}

// text masks what stands in any other field.
func (m *masks) text(text string) string {
	if timePattern.MatchString(text) {
		return "<time>"
	}
	text = quotedPattern.ReplaceAllString(text, "<object>")
	text = suffixPattern.ReplaceAllString(text, "A_<suffix>")
	text = uidPattern.ReplaceAllStringFunc(text, func(uid string) string { return named(m.uids, uid, "uid") })
	return versionPattern.ReplaceAllString(text, "$1<version>")
}

// isPlainBookmark reports whether a masked event of a watch is a bookmark that
// does not end the initial events.
func isPlainBookmark(event any) bool {
	body, _ := event.(map[string]any)
	if body["type"] != "BOOKMARK" {
		return false
	}
	data, err := json.Marshal(body["object"])
	return err == nil && !bytes.Contains(data, []byte(metav1.InitialEventsAnnotationKey))
}

// decode turns a body of any content type into what JSON would decode to, a
// watch into the list of its events, and other text into itself.
func decode(data []byte, contentType string, watching bool) (any, error) {
	var body any
	media, _, _ := strings.Cut(contentType, ";")
	switch {
	case media == runtime.ContentTypeProtobuf && bytes.HasPrefix(data, []byte("k8s\x00")):
		return decodeProtobuf(data)
	case media == runtime.ContentTypeProtobuf:
		return decodeFrames(data)
	case media == runtime.ContentTypeYAML:
		err := yaml.Unmarshal(data, &body)
		return body, err
	case media != runtime.ContentTypeJSON:
		return string(data), nil
	}
	events := []any{}
	decoder := json.NewDecoder(bufio.NewReader(bytes.NewReader(data)))
	for {
		var next any
		err := decoder.Decode(&next)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		events = append(events, next)
	}
	if len(events) == 1 && (!watching || isStatus(events[0])) {
		return events[0], nil
	}
	return events, nil
}

// isStatus tells the error of a refused watch from a stream with one event.
func isStatus(body any) bool {
	obj, _ := body.(map[string]any)
	return obj["kind"] == "Status"
}

// protobufScheme knows the built-in kinds and those of metadata alone.
var protobufScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		panic(err)
	}
	return scheme
}()

func decodeProtobuf(data []byte) (any, error) {
	obj, gvk, err := protobuf.NewSerializer(protobufScheme, protobufScheme).Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var body any
	err = json.Unmarshal(text, &body)
	return body, err
}

// decodeFrames reads the frames of a watch in protobuf.
func decodeFrames(data []byte) (any, error) {
	events := []any{}
	for len(data) > 0 {
		if len(data) < 4 || len(data)-4 < int(binary.BigEndian.Uint32(data)) {
			return nil, fmt.Errorf("a frame is cut off: %x", data)
		}
		end := 4 + int(binary.BigEndian.Uint32(data))
		var event metav1.WatchEvent
		if err := event.Unmarshal(data[4:end]); err != nil {
			return nil, err
		}
		object, err := decodeProtobuf(event.Object.Raw)
		if err != nil {
			return nil, err
		}
		events = append(events, map[string]any{"type": event.Type, "object": object})
		data = data[end:]
	}
	return events, nil
}
