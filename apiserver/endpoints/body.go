package endpoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// maxBody is kube-apiserver's limit for the body of a request, in bytes.
const maxBody = 3 << 20

// readBody reads the body of a request up to the limit.
func readBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, badRequest("read the body of the request: %v", err)
	}
	if len(data) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, nil
}

// contentType is the media type of a body. A request that names none sends
// JSON.
func contentType(r *http.Request) string {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return runtime.ContentTypeJSON
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return header
	}
	return media
}

// decodeBody reads the object in the body of a create or an update.
func (h *Handler) decodeBody(q *request) (runtime.Object, error) {
	media := contentType(q.Request)
	switch {
	case media == runtime.ContentTypeProtobuf && q.res.Custom:
		return nil, unsupportedMediaType(objectTypes)
	case media != runtime.ContentTypeJSON && media != runtime.ContentTypeYAML && media != runtime.ContentTypeProtobuf:
		return nil, unsupportedMediaType(objectTypes)
	}
	data, err := readBody(q.Request)
	if err != nil {
		return nil, err
	}
	if media == runtime.ContentTypeProtobuf {
		return h.decodeProtobuf(q.res, data)
	}
	raw := data
	if media == runtime.ContentTypeYAML {
		// The strict reader of YAML also refuses duplicate keys, which JSON
		// made from them no longer shows.
		toJSON := yaml.YAMLToJSON
		if q.query.Get("fieldValidation") == metav1.FieldValidationStrict {
			toJSON = yaml.YAMLToJSONStrict
		}
		if data, err = toJSON(raw); err != nil {
			return nil, decodeError(q.res, nil, raw, err)
		}
	}
	return h.decodeJSON(q, data, raw)
}

// decodeJSON turns JSON into an object of the resource, and treats unknown and
// duplicate fields as fieldValidation says. raw is what the client has sent, for
// errors.
func (h *Handler) decodeJSON(q *request, data, raw []byte) (runtime.Object, error) {
	if h.unstructured(q.res) {
		return decodeUnstructured(q.res, data, raw)
	}
	obj, gvk, err := h.decodeTyped(q, data)
	if err != nil {
		return nil, decodeError(q.res, gvk, raw, err)
	}
	if err := checkKind(q.res, gvk); err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(q.res.GroupVersionKind)
	return obj, nil
}

// decodeTyped is decodeJSON for typed objects of any kind. Its errors are those
// of the decoder.
func (h *Handler) decodeTyped(q *request, data []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := h.strict.Decode(data, &q.res.GroupVersionKind, q.res.New(h.scheme))
	if !runtime.IsStrictDecodingError(err) {
		return obj, gvk, err
	}
	switch q.query.Get("fieldValidation") {
	case metav1.FieldValidationStrict:
		return nil, gvk, err
	case metav1.FieldValidationIgnore:
	default:
		warn(q.w, err)
	}
	return obj, gvk, nil
}

// unstructured reports whether objects of r are unstructured.
func (h *Handler) unstructured(r *Resource) bool { return !h.scheme.Recognizes(r.GroupVersionKind) }

func (h *Handler) decodeProtobuf(res *Resource, data []byte) (runtime.Object, error) {
	obj, gvk, err := h.protobuf.Decode(data, &res.GroupVersionKind, res.New(h.scheme))
	if err != nil {
		return nil, decodeError(res, gvk, data, err)
	}
	if err := checkKind(res, gvk); err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(res.GroupVersionKind)
	return obj, nil
}

// decodeUnstructured turns JSON into an unstructured object with sound
// metadata. raw is what the client has sent, for errors.
func decodeUnstructured(res *Resource, data, raw []byte) (runtime.Object, error) {
	gvk, err := jsonserializer.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return nil, decodeError(res, nil, raw, err)
	}
	u := &unstructured.Unstructured{}
	if _, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, u); err != nil {
		return nil, decodeError(res, gvk, raw, err)
	}
	if err := checkMetadata(u); err != nil {
		return nil, decodeError(res, gvk, raw, err)
	}
	if gv := u.GroupVersionKind().GroupVersion(); gv != res.GroupVersionKind.GroupVersion() {
		return nil, wrongVersion(res, gv)
	}
	if gvk.Kind != res.GroupVersionKind.Kind {
		return nil, apierrors.NewInvalid(gvk.GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+res.GroupVersionKind.Kind)})
	}
	return u, nil
}

// checkMetadata makes sure that the metadata of an unstructured object has the
// types of an ObjectMeta: the accessors of Unstructured ignore what has not.
func checkMetadata(u *unstructured.Unstructured) error {
	raw, found := u.Object["metadata"]
	if !found || raw == nil {
		u.Object["metadata"] = map[string]any{}
		return nil
	}
	content, ok := raw.(map[string]any)
	if !ok {
		return fmt.Errorf("metadata is a %T, not an object", raw)
	}
	var m metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &m); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// checkKind makes sure that a typed object is of the kind of the resource.
func checkKind(res *Resource, got *schema.GroupVersionKind) error {
	want := res.GroupVersionKind
	if got.GroupVersion() != want.GroupVersion() {
		return wrongVersion(res, got.GroupVersion())
	}
	if got.Kind != want.Kind {
		return badRequest("%s in version %q cannot be handled as a %s", got.Kind, got.Version, want.Kind)
	}
	return nil
}

func wrongVersion(res *Resource, got schema.GroupVersion) error {
	return badRequest("the API version in the data (%s) does not match the expected API version (%s)",
		got, res.GroupVersionKind.GroupVersion())
}

// decodeError words an error of decoding as kube-apiserver does.
func decodeError(res *Resource, got *schema.GroupVersionKind, data []byte, err error) error {
	kind := res.GroupVersionKind.Kind
	if got != nil && got.Kind != "" {
		return badRequest("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, kind, err)
	}
	return badRequest("the object provided is unrecognized (must be of type %s): %v (%s)", kind, err, summary(data))
}

// summary shows the beginning of a body: text for JSON, else hexadecimal.
func summary(data []byte) string {
	const most = 30
	cut := ""
	if len(data) > most {
		data, cut = data[:most], " ..."
	}
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{':
		return string(data) + cut
	}
	return fmt.Sprintf("%x%s", data, cut)
}

// warn sends the problems in a strict decoding error as warning headers.
func warn(w http.ResponseWriter, err error) {
	problems := []error{err}
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		problems = strict.Errors()
	}
	for _, problem := range problems {
		text := strings.NewReplacer("\n", " ", "\r", " ", `\`, `\\`, `"`, `\"`).Replace(problem.Error())
		w.Header().Add("Warning", `299 - "`+text+`"`)
	}
}

// decodeDeleteOptions reads the options of a delete from its body, or if there
// is none from the query. The body's apiVersion is that of any group, so only
// its content counts.
func decodeDeleteOptions(q *request) (*metav1.DeleteOptions, error) {
	opts := &metav1.DeleteOptions{}
	data, err := readBody(q.Request)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if err := internalscheme.ParameterCodec.DecodeParameters(q.query, metav1.SchemeGroupVersion, opts); err != nil {
			return nil, badRequest("%v", err)
		}
		return opts, nil
	}
	switch contentType(q.Request) {
	case runtime.ContentTypeProtobuf:
		var unknown runtime.Unknown
		raw, ok := bytes.CutPrefix(data, []byte("k8s\x00"))
		if !ok {
			return nil, badRequest("the options of the delete are not in protobuf")
		}
		if err := unknown.Unmarshal(raw); err != nil {
			return nil, badRequest("decode the options of the delete: %v", err)
		}
		err = opts.Unmarshal(unknown.Raw)
	case runtime.ContentTypeYAML:
		if data, err = yaml.YAMLToJSON(data); err == nil {
			err = unmarshalDeleteOptions(data, opts)
		}
	case runtime.ContentTypeJSON:
		err = unmarshalDeleteOptions(data, opts)
	default:
		return nil, unsupportedMediaType(objectTypes)
	}
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return opts, nil
}

// unmarshalDeleteOptions reads the options of a delete from JSON that calls
// itself so, or nothing. An unknown field is no harm here.
func unmarshalDeleteOptions(data []byte, opts *metav1.DeleteOptions) error {
	gvk, err := jsonserializer.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return err
	}
	if gvk.Kind != "" && gvk.Kind != "DeleteOptions" {
		return runtime.NewNotRegisteredErrForKind(internalscheme.Scheme.Name(), *gvk)
	}
	return json.Unmarshal(data, opts)
}

// accessor returns the metadata of an object of r.
func accessor(r *Resource, obj runtime.Object) (metav1.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", r.GroupResource(), err)
	}
	return m, nil
}
