import AgentModel
import Simulation

/// Request line to the world: `{"change":"repeater off"}` for a change, or `{}` for the world's state.
package struct WorldRequest: Codable, Equatable, Sendable {
    /// Text of the change, with the syntax of scenarios; nil to read the state.
    package var change: String?

    /// Maximum length of a line in bytes, without the line feed. A world of 500 access points fits.
    static let lineLimit = 256 * 1024
    static let requestLimit = 4096

    package init(change: String?) { self.change = change }

    init(reading line: some Collection<UInt8>) throws(WorldError) {
        do {
            let members = try OutsideJSON.decode([String: String].self, from: line, nesting: 4)
            guard members.keys.allSatisfy({ $0 == "change" }) else {
                throw WorldError(.malformed, "a request may only have the member \"change\"")
            }
            change = members["change"]
        } catch let error as WorldError {
            throw error
        } catch {
            throw WorldError(.malformed, "a request must be a JSON object such as {\"change\":\"repeater off\"}, or {}")
        }
    }
}

/// Answer line of the world: `{"world":{...}}` or `{"error":{"code":...,"message":...}}`.
package enum WorldAnswer: Equatable, Sendable {
    case world(WorldState)
    case error(WorldError)

    /// JSON without a line feed.
    package var line: [UInt8] {
        (try? OutsideJSON.encode(self)) ?? Array(#"{"error":{"code":"malformed","message":"not encoded"}}"#.utf8)
    }

    package init(reading line: some Collection<UInt8>) throws {
        self = try OutsideJSON.decode(WorldAnswer.self, from: line, nesting: 8)
    }
}

extension WorldAnswer: Codable {
    private enum CodingKeys: String, CodingKey {
        case world, error
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let error = try container.decodeIfPresent(WorldError.self, forKey: .error) {
            self = .error(error)
        } else {
            self = .world(try container.decode(WorldState.self, forKey: .world))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .world(let world): try container.encode(world, forKey: .world)
        case .error(let error): try container.encode(error, forKey: .error)
        }
    }
}
