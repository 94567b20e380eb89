package wire

// Identity says who an object is. What could not be read is empty.
type Identity struct {
	Namespace, Name, UID, ResourceVersion string
}

// Identify reads from the raw bytes of an object who it is, as far as they can be
// read: what stands before the place where they are broken or cut off. It needs
// no more of the object than its metadata.
func Identify(encoding Encoding, raw []byte) Identity {
	var id Identity
	switch encoding {
	case Protobuf:
		id.protobuf(raw)
	case JSON:
		members(raw, func(key, value []byte) bool {
			if string(key) != "metadata" {
				return true
			}
			members(value, id.member)
			return false
		})
	}
	return id
}

// member takes a member of the metadata. It wants to see all of them.
func (id *Identity) member(key, value []byte) bool {
	switch string(key) {
	case "namespace":
		id.Namespace = string(text(value))
	case "name":
		id.Name = string(text(value))
	case "uid":
		id.UID = string(text(value))
	case "resourceVersion":
		id.ResourceVersion = string(text(value))
	}
	return true
}

// protobuf takes the metadata from field 1 of every object
// (k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, ObjectMeta).
func (id *Identity) protobuf(raw []byte) {
	for len(raw) > 0 {
		f, problem := nextField(raw)
		if f.num == 1 {
			id.metadata(f.value)
		}
		if problem != "" {
			return
		}
		raw = raw[f.size:]
	}
}

func (id *Identity) metadata(meta []byte) {
	for len(meta) > 0 {
		f, problem := nextField(meta)
		if problem != "" {
			return
		}
		switch f.num {
		case 1:
			id.Name = string(f.value)
		case 3:
			id.Namespace = string(f.value)
		case 5:
			id.UID = string(f.value)
		case 6:
			id.ResourceVersion = string(f.value)
		}
		meta = meta[f.size:]
	}
}
