package endpoints

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
		return h.patchObject(q, current, apply)
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
	return unsupportedMediaType(accepted)
}

// patcher reads a patch and returns what applies it to JSON.
func (h *Handler) patcher(q *request, patchType types.PatchType, data []byte) (func(current []byte) ([]byte, error), error) {
	switch patchType {
	case types.JSONPatchType:
		return jsonPatcher(data)
	case types.StrategicMergePatchType:
		if !json.Valid(data) {
			return nil, badRequest("error decoding patch: it is not JSON")
		}
		return func(current []byte) ([]byte, error) {
			patched, err := strategicpatch.StrategicMergePatch(current, data, q.res.New(h.scheme))
			if err != nil {
				return nil, badRequest("%v", err)
			}
			return patched, nil
		}, nil
	}
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

// jsonPatcher is patcher for JSON patches.
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
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return patched, nil
	}, nil
}

// patchObject applies a patch to an object, which stays as it is.
func (h *Handler) patchObject(q *request, current runtime.Object, apply func([]byte) ([]byte, error)) (runtime.Object, error) {
	var buf bytes.Buffer
	if err := encodeJSON(withKind(current, q.res.GroupVersionKind), &buf); err != nil {
		return nil, fmt.Errorf("encode %s for a patch: %w", q.res.GroupResource(), err)
	}
	patched, err := apply(buf.Bytes())
	if err != nil {
		return nil, err
	}
	obj, err := h.decodeJSON(q, patched)
	if err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(patched), err.Error())})
	}
	return obj, checkName(q, obj)
}
