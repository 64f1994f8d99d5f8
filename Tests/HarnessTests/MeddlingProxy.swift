import JSONValues
import NIOCore
import NIOPosix

/// Stands between the harness and a sound device, on a Unix socket, and spoils what goes through: for defects that a
/// server has rather than what answers behind it.
final class MeddlingProxy: Sendable {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener: any Channel

    init(at path: String, before device: String, _ meddling: Meddling) async throws {
        listener = try await ServerBootstrap(group: group)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { near in
                ClientBootstrap(group: near.eventLoop)
                    .channelOption(.allowRemoteHalfClosure, value: true)
                    .connect(unixDomainSocketPath: device)
                    .flatMapThrowing { far in
                        let spoiler = Spoiler(meddling)
                        try near.pipeline.syncOperations.addHandler(
                            Relay(to: far, losesLast: meddling == .lastLineLost) { meddling.asked($0) })
                        try far.pipeline.syncOperations.addHandler(Relay(to: near) { spoiler.handleAnswer($0) })
                    }
                    .flatMap { near.setOption(.autoRead, value: true) }
            }
            .bind(unixDomainSocketPath: path).get()
    }

    func stop() async throws {
        try await listener.close()
        try await group.shutdownGracefully()
    }
}

/// Passes lines on, spoilt. A last line without a line feed is passed on as it comes.
private final class Relay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let losesLast: Bool
    private let spoil: (String) -> [String]?
    private var rest: [UInt8] = []

    /// - Parameters:
    ///   - losesLast: whether a last line without a line feed is lost.
    ///   - spoil: nil to close the connection.
    init(to other: any Channel, losesLast: Bool = false, _ spoil: @escaping (String) -> [String]?) {
        self.other = other
        self.losesLast = losesLast
        self.spoil = spoil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        rest += unwrapInboundIn(data).readableBytesView
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(rest[..<end])
            rest.removeFirst(end + 1)
            // Bytes that are not UTF-8 are no line of a device, and a defect of its own.
            guard let text = String(validating: line, as: UTF8.self) else {
                other.write(ByteBuffer(bytes: line + [UInt8(ascii: "\n")]), promise: nil)
                continue
            }
            guard let lines = spoil(text) else { return other.close(promise: nil) }
            for line in lines { other.write(ByteBuffer(string: line + "\n"), promise: nil) }
        }
        if rest.count > 65_536 {
            other.write(ByteBuffer(bytes: rest), promise: nil)
            rest = []
        }
        other.flush()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return }
        if !losesLast { other.writeAndFlush(ByteBuffer(bytes: rest), promise: nil) }
        other.close(mode: .output, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
}

/// Mistakes of a server, and the checks that must find them.
enum Meddling: String, CaseIterable {
    case eventLost, eventTwice, eventUnasked
    case answersSwapped, idLost, versionWrong, okMissing, bodyMissing
    case memberMissing, memberOfWrongType, passwordShown, qualityWrong, timeWrong, ssidTwice
    case codeChanged, detailsMissing, messageMissing
    case closesAfterError, answersEmptyLines, lineTooLong, silent
    case unknownMembersRefused
    case fieldWithoutBody, lastLineLost, restartUncounted, busyUntold, flagMisnamed

    var finders: [String] {
        switch self {
        case .eventLost, .eventTwice: ["events.sequence"]
        case .eventUnasked: ["events.none"]
        case .answersSwapped: ["lines.order"]
        case .idLost: ["lines.id.anyText", "lines.order"]
        case .versionWrong, .okMissing, .bodyMissing: ["network.get", "backups.get"]
        case .memberMissing, .memberOfWrongType: ["backups.get", "backups.update.answer"]
        case .passwordShown: ["backups.update.answer"]
        case .qualityWrong, .timeWrong, .flagMisnamed: ["network.get"]
        case .ssidTwice: ["network.get"]
        case .codeChanged: ["lines.malformed.notJSON", "backups.update.passwordMissing", "events.future"]
        case .detailsMissing: ["backups.update.revisionConflict", "limits.confirm"]
        case .messageMissing: ["lines.usable"]
        case .closesAfterError: ["lines.usable", "lines.malformed.notJSON"]
        case .answersEmptyLines: ["lines.empty"]
        case .lineTooLong: ["network.get"]
        case .silent: ["network.get"]
        case .unknownMembersRefused: ["lines.members.unknown"]
        case .fieldWithoutBody: ["lines.malformed.fractionalEntry", "key.seal.malformed", "switch.invalid"]
        case .lastLineLost: ["lines.last"]
        case .restartUncounted: ["events.otherStream"]
        case .busyUntold: ["robustness.connections"]
        }
    }

    /// The lines for the device in place of one from the harness.
    func asked(_ line: String) -> [String]? {
        switch self {
        case .answersEmptyLines where line.isEmpty: ["{}"]
        case .unknownMembersRefused where line.contains("colour"): ["{}"]
        default: [line]
        }
    }
}

/// Changes the lines from the device, on one connection.
private final class Spoiler {
    private let meddling: Meddling
    private var events = 0
    private var held: String?
    /// The first questions are those of the harness before any check.
    private var answers = 0

    init(_ meddling: Meddling) { self.meddling = meddling }

    func handleAnswer(_ line: String) -> [String]? {
        guard let json = JSONValue(line: Array(line.utf8)) else { return [line] }
        if json["event"] != nil { return event(line) }
        answers += 1
        return answer(json, line)
    }

    private func event(_ line: String) -> [String]? {
        events += 1
        return switch meddling {
        case .eventLost where events == 2: []
        case .eventTwice where events == 2: [line, line]
        case .restartUncounted:
            [line.replacing(#""missed":0,"reason":"restarted""#, with: #""missed":3,"reason":"restarted""#)]
        default: [line]
        }
    }

    private func answer(_ json: JSONValue, _ line: String) -> [String]? {
        let isError = json["error"] != nil
        switch meddling {
        case .answersSwapped:
            guard let first = held else {
                // Held back only where another request is sure to come.
                guard json["id"]?.text == "o0" else { return [line] }
                held = line
                return []
            }
            held = nil
            return [line, first]
        case .idLost where json["id"]?.text?.hasPrefix("h") != true: return [json.with(["id": nil]).asText]
        case .versionWrong where answers > 1: return [json.with(["v": 2]).asText]
        case .okMissing where answers > 1: return [json.with(["ok": nil]).asText]
        case .bodyMissing where answers > 1: return [json.with(["body": nil]).asText]
        case .memberMissing: return [json.body(with: ["revision": nil], where: "networks")]
        case .memberOfWrongType: return [json.body(with: ["revision": "7"], where: "networks")]
        case .passwordShown: return [json.inNetworks(with: ["password": "swordfish"])]
        case .qualityWrong: return [json.body(with: ["quality": 1], where: "flags")]
        case .timeWrong: return [json.body(with: ["since": "2026-02-03 04:05:06"], where: "flags")]
        case .flagMisnamed: return [line.replacing(#""interventionRequired""#, with: #""isWWAN""#)]
        case .ssidTwice: return [json.body(with: ["ssidHex": "ff"], where: "ssid")]
        case .codeChanged where isError: return [line.replacing("\"code\":\"", with: "\"code\":\"x")]
        case .detailsMissing where isError: return [json.with(["error": json.error(with: ["details": nil])]).asText]
        case .messageMissing where isError: return [json.with(["error": json.error(with: ["message": nil])]).asText]
        case .fieldWithoutBody where isError: return [line.replacing(#""field":"body."#, with: #""field":""#)]
        case .busyUntold where line.contains(#""busy""#): return nil
        case .closesAfterError where isError: return nil
        case .lineTooLong where json["body"]?["flags"] != nil:
            return [json.with(["padding": .text(String(repeating: "x", count: 65_536))]).asText]
        case .silent where json["body"]?["flags"] != nil: return []
        case .eventUnasked where events == 0 && json["body"]?["networks"] != nil:
            let event: JSONValue = [
                "v": 1, "event": "signal", "seq": 1, "time": "2026-02-03T04:05:06.789Z",
                "body": ["signal": -50, "quality": 100],
            ]
            return [event.asText, line]
        default: return [line]
        }
    }
}

extension JSONValue {
    fileprivate var asText: String { String(decoding: line, as: UTF8.self) }

    /// The answer with these members in its body, where that has a member named `name`.
    fileprivate func body(with members: [String: JSONValue], where name: String) -> String {
        guard let body = self["body"], body[name] != nil else { return asText }
        return with(["body": body.with(members)]).asText
    }

    fileprivate func inNetworks(with members: [String: JSONValue]) -> String {
        guard let body = self["body"], let networks = body["networks"]?.array else { return asText }
        return with(["body": body.with(["networks": .array(networks.map { $0.with(members) })])]).asText
    }

    fileprivate func error(with members: [String: JSONValue]) -> JSONValue { self["error"]?.with(members) ?? .null }
}

/// Mistakes of a device, and the checks that must find them.
enum Defect: String, CaseIterable {
    case updateNotAtomic, refusalCounts, refusalTold, revisionStands, changeUntold, ifRevisionIgnored
    case oneTooMany, oneTooFew, duplicatesKept, orderLost, listGrows, hiddenLost
    case hashWithoutKey, hashOfText, passwordForgotten, addressForgotten, oldPasswordStays, removedStillKnown
    case replayAccepted, passwordTold, optionsForgotten
    case switchesAtOnce, flagMissing, alreadyThereIgnored, wrongReason, staysAway, triedIsStored
    case outcomeTwice, outcomeForgotten, confirmsAnything, silenceConfirms, anyPasswordJoins, joinOnceKept
    case progressUntold, decisionUntold, staysLost
    case connectivityUntold, layersDisordered, portalNamesTwice, portalTooLong, portalUntold, anyPortalAnswered
    case countUntold, sealedFieldUntold, hashUntold, interfaceBeforeUplink
    case scansAtOnce, scanUnnumbered, weakestFirst, historyUnlimited
    case nameForgotten, nameStays, nameUntold, oneOfEachName, portalElsewhere, updateFlagMissing
    case portForgotten, anyHostTaken, anyTargetNameTaken, targetUntold, flagAlone
    case providerTwice, providerStaysOn, anyProviderSwitched, providerTooEarly, requestOfAnother, requestWithoutWay

    /// Ids of checks that must fail, at least.
    var finders: [String] {
        switch self {
        case .updateNotAtomic: ["backups.atomic.unknownNetwork"]
        case .refusalCounts: ["backups.atomic.unknownNetwork", "backups.atomic.revisionConflict"]
        case .refusalTold: ["backups.atomic.revisionConflict", "backups.atomic.unknownNetwork"]
        case .revisionStands: ["backups.update.answer"]
        case .changeUntold: ["backups.update.event", "events.everybody", "events.resume"]
        case .ifRevisionIgnored: ["backups.update.revisionConflict", "backups.update.race"]
        case .oneTooMany: ["backups.update.tooManyNetworks"]
        case .oneTooFew: ["backups.update.maximum"]
        case .duplicatesKept: ["backups.update.duplicateNetwork", "backups.update.duplicateHash"]
        case .orderLost: ["backups.update.order"]
        case .listGrows: ["backups.update.replaces"]
        case .hiddenLost: ["backups.update.hidden"]
        case .hashWithoutKey: ["hashes.rule", "hashes.open", "key.seal.accepted"]
        case .hashOfText: ["hashes.bytes"]
        case .passwordForgotten: ["hashes.keep"]
        case .addressForgotten: ["backups.update.address"]
        case .optionsForgotten: ["backups.update.options"]
        case .oldPasswordStays: ["hashes.passwordCounts", "hashes.distinct"]
        case .removedStillKnown: ["hashes.forget"]
        case .replayAccepted: ["key.seal.used"]
        case .passwordTold: ["switch.notFound"]
        case .switchesAtOnce: ["switch.inProgress", "switch.race"]
        case .flagMissing: ["switch.inProgress"]
        case .alreadyThereIgnored: ["switch.alreadyAssociated"]
        case .wrongReason: ["switch.notFound"]
        case .staysAway: ["switch.notFound"]
        case .triedIsStored: ["switch.listStands"]
        case .outcomeTwice, .outcomeForgotten: ["switch.oneOutcome"]
        case .confirmsAnything: ["switch.confirm.notWaiting"]
        case .silenceConfirms: ["switch.unconfirmed"]
        case .anyPasswordJoins: ["switch.wrongKey"]
        case .joinOnceKept: ["switch.joinOnce"]
        case .progressUntold: ["switch.events"]
        case .decisionUntold: ["switch.events"]
        case .staysLost: ["accessPoints.failover"]
        case .connectivityUntold: ["network.get.connectivity"]
        case .layersDisordered: ["diagnosis.get"]
        case .portalNamesTwice, .portalTooLong, .portalUntold: ["portal.get"]
        case .anyPortalAnswered: ["portal.answer.unknown"]
        case .countUntold: ["backups.update.tooManyNetworks"]
        case .sealedFieldUntold: ["key.seal.used", "key.seal.tampered", "key.seal.rotated", "key.seal.atomic"]
        case .hashUntold: ["switch.unknownNetwork"]
        case .interfaceBeforeUplink: ["switch.uplink"]
        case .scansAtOnce: ["scan.busy"]
        case .scanUnnumbered: ["scan.finished"]
        case .weakestFirst: ["scan.results"]
        case .historyUnlimited: ["history.get.limit"]
        case .nameForgotten: ["name.set.kept", "name.set.refused"]
        case .nameStays: ["name.set.cleared"]
        case .nameUntold: ["name.set.event"]
        case .oneOfEachName: ["backups.update.twoPasswords"]
        case .portalElsewhere: ["portal.get.state"]
        case .updateFlagMissing: ["backups.update.flag"]
        case .portForgotten: ["targets.port"]
        case .anyHostTaken: ["targets.badHost"]
        case .anyTargetNameTaken: ["targets.names"]
        case .targetUntold: ["targets.event"]
        case .flagAlone: ["network.get.reachability"]
        case .providerTwice: ["providers.get"]
        case .providerStaysOn: ["providers.set"]
        case .anyProviderSwitched: ["providers.unknown"]
        case .providerTooEarly: ["portal.get.state"]
        case .requestOfAnother, .requestWithoutWay: ["portal.get"]
        }
    }
}
