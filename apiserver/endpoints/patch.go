package endpoints

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxPatchOperations is kube-apiserver's limit for a JSON patch.
const maxPatchOperations = 10_000

// jsonPatchOp is as much of an operation of a JSON patch as is read before it
// is applied.
type jsonPatchOp struct {
	Op string `json:"op"`
}

// patch changes an object, or its status, by a patch.
func (h *Handler) patch(ctx context.Context, q *request) error {
	patchType := types.PatchType(contentType(q.Request))
	if err := checkPatchType(q.res, patchType); err != nil {
		return err
	}
	opts := &metav1.PatchOptions{}
	err := parseOptions(q.query, "PatchOptions", opts, func() field.ErrorList {
		return metav1validation.ValidatePatchOptions(opts, patchType)
	})
	if err != nil {
		return err
	}
	out, err := negotiate(q.Request, q.res, shapeObject)
	if err != nil {
		return err
	}
	data, err := readBody(q.Request)
	if err != nil {
		return err
	}
	apply, err := h.patcher(q, patchType, data)
	if err != nil {
		return err
	}
	updated, err := h.write(ctx, q, isDryRun(opts.DryRun), func(current runtime.Object) (runtime.Object, error) {
		obj, err := apply(current)
		if err != nil {
			return nil, err
		}
		return obj, checkName(q, obj)
	})
	if err != nil {
		return err
	}
	return h.respondObject(ctx, q, http.StatusOK, updated, out)
}

// checkPatchType refuses the kinds of patches that a resource does not take.
func checkPatchType(r *Resource, patchType types.PatchType) error {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if !r.Custom {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	for _, a := range accepted {
		if a == string(patchType) {
			return nil
		}
	}
	if r.Custom {
		return unsupportedMediaType(accepted)
	}
	return genericError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
}

// patcher reads a patch and returns what applies it to an object, which stays
// as it is.
func (h *Handler) patcher(q *request, patchType types.PatchType, data []byte) (func(runtime.Object) (runtime.Object, error), error) {
	if !json.Valid(data) {
		return nil, badRequest("invalid JSON patch")
	}
	apply := mergePatcher
	switch patchType {
	case types.StrategicMergePatchType:
		return h.strategicPatcher(q, data)
	case types.JSONPatchType:
		apply = jsonPatcher
	}
	patch, err := apply(data)
	if err != nil {
		return nil, err
	}
	return func(current runtime.Object) (runtime.Object, error) {
		return h.patchJSON(q, current, patch)
	}, nil
}

// mergePatcher returns what applies a merge patch to JSON.
func mergePatcher(data []byte) (func(current []byte) ([]byte, error), error) {
	var merge map[string]any
	if err := json.Unmarshal(data, &merge); err != nil {
		return nil, badRequest("error decoding patch: %v", err)
	}
	return func(current []byte) ([]byte, error) {
		patched, err := jsonpatch.MergePatch(current, data)
		if err != nil {
			return nil, badRequest("%v", err)
		}
		return patched, nil
	}, nil
}

// jsonPatcher returns what applies a JSON patch to JSON.
func jsonPatcher(data []byte) (func(current []byte) ([]byte, error), error) {
	var ops []jsonPatchOp
	if err := json.Unmarshal(data, &ops); err != nil {
		return nil, badRequest("error decoding patch: %v", err)
	}
	if len(ops) > maxPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(ops)))
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, badRequest("error decoding patch: %v", err)
	}
	return func(current []byte) ([]byte, error) {
		patched, err := patch.Apply(current)
		if err != nil {
			return nil, genericError(http.StatusUnprocessableEntity, err.Error())
		}
		return patched, nil
	}, nil
}

// patchJSON applies a patch of JSON to an object.
func (h *Handler) patchJSON(q *request, current runtime.Object, apply func([]byte) ([]byte, error)) (runtime.Object, error) {
	var buf bytes.Buffer
	if err := encodeJSON(withKind(current, q.res.GroupVersionKind), &buf); err != nil {
		return nil, fmt.Errorf("encode %s for a patch: %w", q.res.GroupResource(), err)
	}
	patched, err := apply(buf.Bytes())
	if err != nil {
		return nil, err
	}
	if h.unstructured(q.res) {
		obj, err := decodeUnstructured(q.res, patched, patched)
		if err != nil {
			return nil, invalidPatch(string(patched), err)
		}
		return obj, nil
	}
	obj, gvk, err := h.decodeTyped(q, patched)
	if err == nil {
		err = checkKind(q.res, gvk)
	}
	if err != nil {
		return nil, invalidPatch(string(patched), err)
	}
	obj.GetObjectKind().SetGroupVersionKind(q.res.GroupVersionKind)
	return obj, nil
}

// strategicPatcher is patcher for strategic merge patches, which know the Go
// type.
func (h *Handler) strategicPatcher(q *request, data []byte) (func(runtime.Object) (runtime.Object, error), error) {
	var patch map[string]any
	if err := utiljson.Unmarshal(data, &patch); err != nil {
		return nil, badRequest("%v", err)
	}
	converter := runtime.DefaultUnstructuredConverter
	return func(current runtime.Object) (runtime.Object, error) {
		original, err := converter.ToUnstructured(current)
		if err != nil {
			return nil, fmt.Errorf("convert %s for a patch: %w", q.res.GroupResource(), err)
		}
		obj := q.res.New(h.scheme)
		merged, err := strategicpatch.StrategicMergeMapPatch(original, runtime.DeepCopyJSON(patch), obj)
		if err != nil {
			return nil, strategicError(err)
		}
		validation := q.query.Get("fieldValidation")
		err = converter.FromUnstructuredWithValidation(merged, obj, validation != metav1.FieldValidationIgnore)
		if runtime.IsStrictDecodingError(err) && validation != metav1.FieldValidationStrict {
			warn(q.w, err)
			err = nil
		}
		if err != nil {
			return nil, invalidPatch(fmt.Sprintf("%+v", patch), err)
		}
		obj.GetObjectKind().SetGroupVersionKind(q.res.GroupVersionKind)
		return obj, nil
	}, nil
}

// invalidPatch is the answer to a patch that makes no object of the kind.
func invalidPatch(value string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), value, err.Error())})
}

// strategicError tells apart, as kube-apiserver does, why a strategic merge
// patch cannot be merged. What it does not know becomes a 500.
func strategicError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys), errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return badRequest("%v", err)
	case errors.Is(err, mergepatch.ErrNoListOfLists):
		return genericError(http.StatusUnprocessableEntity, err.Error())
	}
	return err
}
