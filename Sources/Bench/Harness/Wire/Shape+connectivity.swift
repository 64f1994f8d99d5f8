import AgentModel
import AppProtocol

// How far a network leads, and what stands in the way.
extension Shape {
    static let connectivity = Shape.object([
        .optional("level", level), .required("required", level),
        .required("internet", .oneOf(InternetState.allCases.map(\.rawValue))), .optional("problem", problem),
        .optional("portal", portal), .required("targets", .list(target)),
        .required("reachability", .list(.oneOf(ReachabilityFlags.allNames.map(\.name)))), .optional("checked", .time),
    ])

    static let target = Shape.object([
        .required("name", .text), .required("host", .text), .required("port", .integer(1...65535)),
        .required("state", .oneOf(ConnectionState.allCases.map(\.rawValue))), .required("online", .bool),
        .optional("reason", problem), .required("since", .time),
    ])

    static let portal = Shape.object([
        .optional("url", portalURL), .required("state", .oneOf(Portal.State.allCases.map(\.rawValue))),
        .optional("provider", .text), .optional("secondsRemaining", .integer(0 ... .max)),
        .optional("bytesRemaining", .integer(0 ... .max)),
    ])

    static let portalRequest = Shape.object(
        naming: .required,
        [
            .required("id", .integer(1 ... .max)), .required("provider", .text),
            .required("title", .textOf(1...ProtocolLimits.portalTitleLength)),
            .required("message", .textOf(0...ProtocolLimits.portalMessageLength)), .optional("url", portalURL),
            .optional("hash", .base64(32)),
            .required(
                "fields",
                .list(
                    .object([
                        .required("name", .textOf(ProtocolLimits.portalNameLength)),
                        .required("label", .textOf(0...ProtocolLimits.portalTitleLength)),
                        .required("kind", .oneOf(PortalRequest.Field.Kind.allCases.map(\.rawValue))),
                        .required("required", .bool),
                    ]))),
        ])

    static let diagnosis = Shape.object([
        .required(
            "steps",
            .list(
                .object([
                    .required("layer", .oneOf(Diagnosis.Layer.allCases.map(\.rawValue))),
                    .required("result", .oneOf(Diagnosis.Result.allCases.map(\.rawValue))),
                    .required("found", .text), .optional("remedy", .text),
                ]))), .optional("checked", .time),
    ])

    private static let portalURL = Shape.textOf(1...ProtocolLimits.portalURLLength)

    private static let level = Shape.oneOf(ReachLevel.allCases.map(\.rawValue))
    private static let problem = Shape.oneOf(ReachProblem.allCases.map(\.rawValue))
}
