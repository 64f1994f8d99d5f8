import AgentModel
import AppClient
import AppProtocol
import TestTime
import Testing

/// A new device is brought into a network through the setup access point, by a phone that goes there and back.
@Suite(.timeLimit(.minutes(10))) struct OnboardingTests {
    private let accessPoint: SetupAccessPointCredentials

    init() throws { accessPoint = try #require(SetupAccessPointCredentials(of: Fixture.device)) }

    @Test func theDeviceIsFollowedIntoItsNetwork() async throws {
        try await Fixture.with { fixture async throws in
            let (phone, steps) = (Phone(), Observed<[OnboardingStep]>([]))
            let manager = fixture.manager()
            let model = try manager.generateBackupWifiModel(ssid: "Attic", pwd: "correct horse")
            async let outcome = manager.onboard(into: model, through: accessPoint, on: phone) { step in
                steps.change { $0.append(step) }
            }
            try await steps.wait("the phone has left") { $0.contains(.following) }
            for phase in [SwitchPhase.joining, .waitingForAddress, .validating, .committed] {
                fixture.board.advance(to: phase)
                try await steps.wait("\(phase)") { $0.last == .switching(phase) }
            }
            #expect(try await outcome.phase == .committed)
            #expect(
                steps.value == [
                    .joiningAccessPoint, .switching(.accepted), .following, .switching(.joining),
                    .switching(.waitingForAddress), .switching(.validating), .switching(.committed),
                ])
            #expect(phone.moves == [.join, .leave])
            guard case .switchNetwork(let request)? = fixture.board.asked.last(where: { $0.type == .switchNetwork }),
                case .new(let network) = request.target
            else {
                Issue.record("nothing was handed over")
                return
            }
            guard case .sealed = network.credential else {
                Issue.record("the password was not sealed")
                return
            }
        }
    }

    /// The phone does not learn it in the network: it asks at the access point, and the user is told why.
    @Test func aWrongPasswordIsToldAtTheAccessPoint() async throws {
        try await Fixture.with { fixture async throws in
            let steps = Observed<[OnboardingStep]>([])
            let status = SwitchStatus(switchId: "s-1", phase: .failed, reason: ReasonCode(.wrongKey))
            let phone = Phone { move in
                fixture.board.set { $0.switches = move == .leave ? [:] : ["s-1": status] }
            }
            let manager = fixture.manager()
            let model = try manager.generateBackupWifiModel(ssid: "Attic", pwd: "wrong password")
            do {
                try await manager.onboard(into: model, through: accessPoint, on: phone) { step in
                    steps.change { $0.append(step) }
                }
                Issue.record("the device is in no network")
            } catch {
                #expect(error as? ClientError == .notSwitched(status))
            }
            #expect(steps.value == [.joiningAccessPoint, .switching(.accepted), .following, .returning])
            #expect(phone.moves == [.join, .leave, .join])
        }
    }

    @Test func aPhoneThatDoesNotGetThereSaysWhy() async throws {
        try await Fixture.with { fixture async throws in
            let phone = Phone(refusal: "the user has declined")
            let manager = fixture.manager()
            let model = try manager.generateBackupWifiModel(ssid: "Attic", pwd: "correct horse")
            await #expect(throws: ClientError.accessPointNotJoined("the user has declined")) {
                try await manager.onboard(into: model, through: accessPoint, on: phone)
            }
            #expect(fixture.board.count(.switchNetwork) == 0)
        }
    }
}

/// The Wi-Fi of a phone, which reaches the device wherever it is.
private final class Phone: PhoneNetwork {
    enum Move: Equatable { case join, leave }

    private let refusal: String?
    private let onMove: @Sendable (Move) -> Void
    private let made = Observed<[Move]>([])

    var moves: [Move] { made.value }

    init(refusal: String? = nil, onMove: @escaping @Sendable (Move) -> Void = { _ in }) {
        (self.refusal, self.onMove) = (refusal, onMove)
    }

    func join(_ accessPoint: SetupAccessPointCredentials) async throws {
        if let refusal { throw Refusal(description: refusal) }
        move(.join)
    }

    func leave(_ accessPoint: SetupAccessPointCredentials) async { move(.leave) }

    private func move(_ move: Move) {
        made.change { $0.append(move) }
        onMove(move)
    }

    private struct Refusal: Error, CustomStringConvertible { let description: String }
}
