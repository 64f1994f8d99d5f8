/// Where a value goes that is not known yet, for containers are filled after they were put where they belong.
final class JSONPlace {
    private enum Kind {
        case nothing
        case single(JSONValue)
        case array
        case object
    }

    private var kind = Kind.nothing
    private var elements: [JSONPlace] = []
    private var members: [String: JSONPlace] = [:]

    var isEmpty: Bool { if case .nothing = kind { true } else { false } }

    /// What encodes nothing is an empty object.
    var value: JSONValue {
        switch kind {
        case .single(let value): value
        case .array: .array(elements.map(\.value))
        case .nothing, .object: .object(members.mapValues(\.value))
        }
    }

    func put(_ value: JSONValue) {
        precondition(isEmpty, "a value was encoded where there is one")
        kind = .single(value)
    }

    func becomeArray() {
        if isEmpty { kind = .array }
        guard case .array = kind else { preconditionFailure("an array was encoded where there is a value") }
    }

    func becomeObject() {
        if isEmpty { kind = .object }
        guard case .object = kind else { preconditionFailure("an object was encoded where there is a value") }
    }

    var elementCount: Int { elements.count }

    func appendElement() -> JSONPlace {
        let place = JSONPlace()
        elements.append(place)
        return place
    }

    /// - Parameter isNew: whether what was encoded for that name before is replaced.
    func member(_ name: String, isNew: Bool) -> JSONPlace {
        if !isNew, let place = members[name] { return place }
        let place = JSONPlace()
        members[name] = place
        return place
    }
}
