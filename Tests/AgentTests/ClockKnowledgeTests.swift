import AgentModel
import AppProtocol
import KeyFile
import Linux
import Testing

@testable import Agent
@testable import AgentCore

@Suite struct ClockKnowledgeTests {
    private static let now: Int64 = 1_795_600_000

    @Test(arguments: [
        // Nothing says that it is right.
        (ClockKnowledge(time: now, isSynchronised: nil, hasMark: false, batteryTime: nil), false),
        (ClockKnowledge(time: now, isSynchronised: false, hasMark: false, batteryTime: nil), false),
        (ClockKnowledge(time: now, isSynchronised: true, hasMark: false, batteryTime: nil), true),
        (ClockKnowledge(time: now, isSynchronised: nil, hasMark: true, batteryTime: nil), true),
        (ClockKnowledge(time: now, isSynchronised: false, hasMark: false, batteryTime: now - 60), true),
        // A battery that was empty, while systemd remembers when the device ran last.
        (ClockKnowledge(time: now, isSynchronised: false, hasMark: false, batteryTime: 100), false),
        (ClockKnowledge(time: now, isSynchronised: false, hasMark: false, batteryTime: now - 61), false),
        (ClockKnowledge(time: now, isSynchronised: false, hasMark: false, batteryTime: now + 61), false),
        // 1970, whoever has said that it is right.
        (ClockKnowledge(time: 100, isSynchronised: true, hasMark: true, batteryTime: 100), false),
        (ClockKnowledge(time: 100, isSynchronised: nil, hasMark: false, batteryTime: 100), false),
    ])
    func theTimeIsKnown(_ knowledge: ClockKnowledge, isKnown: Bool) {
        #expect(knowledge.isKnown == isKnown)
    }

    @Test func theSystemIsAsked() {
        let read = ClockKnowledge.read()
        #expect(read.time > 0)
    }
}

@Suite struct EnterpriseNetworkTests {
    private static let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"

    private func credential(_ password: String = "p") throws -> EnterpriseCredential {
        try EnterpriseCredential(
            method: .peap, identity: "kiosk7", password: Secret(text: password), caCertificate: Self.certificate)
    }

    @Test(arguments: [false, true]) func isStoredWhetherItCameSealedOrNot(isSealed: Bool) throws {
        let ssid = try SSID("Works")
        let device = try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "0123456789abcdef"))
        let opener = SealOpener(device)
        let plain = NewNetwork(ssid: ssid, credential: .enterprise(try credential()), security: .enterprise)
        let context = SealContext(of: plain, in: SwitchRequest(target: .new(plain)))
        let sent =
            isSealed
            ? plain.with(.sealedEnterprise(try opener.key.seal(credential(), in: context, for: device))) : plain
        let network = try StoredNetwork(sent, at: "body", in: context, openedWith: opener)
        #expect(network.credential == .enterprise(try credential()))
        #expect(network.security == .enterprise && network.minimumSecurity == [])
        #expect(
            network.hash(localKey: device.localKey)
                == NetworkHash(localKey: device.localKey, ssid: ssid, enterprise: try credential()))
    }

    @Test func theMemberAtFaultIsNamed() throws {
        let ssid = try SSID("Works")
        let device = try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "0123456789abcdef"))
        let opener = SealOpener(device)
        let plain = NewNetwork(ssid: ssid, credential: .enterprise(try credential()), security: .enterprise)
        let revisions = [3, 4].map { BackupsUpdate(networks: [.new(plain)], ifRevision: $0) }
        let other = try opener.key.seal(credential(), in: SealContext(of: plain, in: revisions[0]), for: device)
        let error = #expect(throws: ProtocolError.self) {
            try StoredNetwork(
                plain.with(.sealedEnterprise(other)), at: "body.networks[2]",
                in: SealContext(of: plain, in: revisions[1]), openedWith: opener)
        }
        #expect(error?.code == .sealInvalid)
        #expect(error?.details == ["field": .text("body.networks[2].enterprise.sealed")])
    }

    /// An app names the network by it, and sends the credential no more.
    @Test func itsHashNamesIt() throws {
        let key = Secret(text: "0123456789abcdef")
        let works = StoredNetwork(ssid: try SSID("Works"), credential: .enterprise(try credential()))
        let other = StoredNetwork(ssid: try SSID("Works"), credential: .enterprise(try credential("q")))
        var state = StoredState(backups: [works])
        #expect(works.hash(localKey: key) != other.hash(localKey: key))
        #expect(state.network(works.hash(localKey: key), localKey: key) == works)
        #expect(state.network(other.hash(localKey: key), localKey: key) == nil)
        try state.apply(
            PreparedUpdate(entries: [.stored(works.hash(localKey: key))], ifRevision: nil), localKey: key)
        #expect(state.backups == [works])
    }
}
