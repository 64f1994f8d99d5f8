import AgentModel
import Randomness
import Testing

@testable import Dongle

/// What comes with the driver's scans, joins and keys.
@Suite struct OrderTests {
    static func scan(names: [String] = [""], channels: [UInt16] = [0x1001], isPassive: Bool = false) -> [UInt8] {
        var argument: [UInt8] = []
        argument.append(little: UInt32(1))
        argument.append(little: UInt16(1))
        argument.append(little: UInt16(0x1234))
        argument += [UInt8](repeating: 0, count: 43) + [isPassive ? 1 : 0]
        for _ in 0..<4 { argument.append(little: Int32(-1)) }
        argument.append(little: UInt32(channels.count | names.count << 16))
        for channel in channels { argument.append(little: channel) }
        argument += repeatElement(0, count: (4 - (argument.count - 8) % 4) % 4)
        for name in names {
            argument.append(little: UInt32(name.utf8.count))
            argument += Array(name.utf8).resized(to: 32)
        }
        return argument
    }

    static func join(_ name: String = "HomeNet", bssid: String = "02:00:00:00:01:00", channel: UInt16? = 0x1001)
        -> [UInt8]
    {
        var argument: [UInt8] = []
        argument.append(little: UInt32(name.utf8.count))
        argument += Array(name.utf8).resized(to: 32) + [UInt8](repeating: 0, count: 20)
        argument += (BSSID(bssid)?.bytes ?? []) + [0, 0]
        argument.append(little: UInt32(channel == nil ? 0 : 1))
        if let channel { argument.append(little: channel) }
        return argument
    }

    static func key(index: UInt32 = 0, key: [UInt8] = Array(0..<16), algorithm: UInt32 = 4, isInitialised: Bool = true)
        -> [UInt8]
    {
        var argument = [UInt8](repeating: 0, count: 164)
        argument.put(little: index, at: 0)
        argument.put(little: UInt32(key.count), at: 4)
        argument.put(key, at: 8)
        argument.put(little: algorithm, at: 112)
        argument.put(little: UInt32(isInitialised ? 1 : 0), at: 132)
        argument.put(little: UInt32(0x0605_0403), at: 140)
        argument.put(little: UInt16(0x0201), at: 144)
        argument.put([2, 0, 0, 0, 1, 0], at: 156)
        return argument
    }

    @Test func scans() throws {
        let order = try FirmwareScanOrder(Self.scan(names: ["", "Hidden"], channels: [0x1001, 0x1006, 0xd024])[...])
        #expect(order.syncID == 0x1234)
        #expect(order.ssids == [nil, try SSID("Hidden")])
        #expect(order.channels.map { $0.frequency?.megahertz } == [2412, 2437, 5180])
        #expect(order.active == nil && order.passive == nil)
        #expect(try FirmwareScanOrder(Self.scan(isPassive: true)[...]).ssids == [])
        #expect(try FirmwareScanOrder.Action(Self.scan()[...]) == .start)
    }

    @Test func joins() throws {
        let order = try JoinOrder(Self.join()[...], .join)
        #expect(order.ssid == (try SSID("HomeNet")) && order.bssid == BSSID("02:00:00:00:01:00"))
        #expect(order.channel?.frequency?.megahertz == 2412)
        #expect(try JoinOrder(Self.join(bssid: "ff:ff:ff:ff:ff:ff", channel: nil)[...], .join).bssid == nil)
        #expect(try JoinOrder(Self.join(bssid: "00:00:00:00:00:00", channel: nil)[...], .join).channel == nil)
        // A name alone is enough.
        #expect(try JoinOrder(Self.join().prefix(36), .join).bssid == nil)
    }

    @Test func keys() throws {
        let key = try KeyOrder(Self.key()[...])
        #expect(key.key == Array(0..<16) && key.cipher == 0x000f_ac04 && key.sequence == [1, 2, 3, 4, 5, 6])
        #expect(key.address == BSSID("02:00:00:00:01:00"))
        #expect(try KeyOrder(Self.key(index: 4)[...]).cipher == 0x000f_ac06)
        #expect(try KeyOrder(Self.key(key: [], algorithm: 0, isInitialised: false)[...]).sequence == nil)
        #expect(throws: DongleError.self) { try KeyOrder(Self.key(algorithm: 9)[...]) }
        #expect(throws: DongleError.self) { try KeyOrder(Self.key(index: 300)[...]) }
    }

    @Test func securitySuites() throws {
        // RSN, version 1: CCMP, one cipher, CCMP, one key management, PSK, and the bit for protected frames.
        let element = try USBTests.bytes("3014 0100 000fac04 0100 000fac04 0100 000fac02 8000")
        let suites = try #require(SecuritySuites(element[...]))
        #expect(suites.group == 0x000f_ac04 && suites.pairwise == 0x000f_ac04 && suites.keyManagement == 0x000f_ac02)
        #expect(suites.canProtectFrames)
        for length in 0..<element.count { #expect(SecuritySuites(element.prefix(length)) == nil) }
    }

    /// Whatever comes, it is understood or refused, and nothing traps.
    @Test func nothingTraps() throws {
        var random = SeededRandom(seed: 23)
        for seed in [Self.scan(names: ["", "a"]), Self.join(), Self.key()] {
            for length in 0...seed.count { Self.readAll(seed.prefix(length)) }
            for _ in 0..<Rounds.of(2000) {
                var bytes = seed
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                Self.readAll(bytes[...])
            }
        }
    }

    private static func readAll(_ bytes: ArraySlice<UInt8>) {
        _ = try? FirmwareScanOrder(bytes)
        _ = try? FirmwareScanOrder.Action(bytes)
        _ = try? JoinOrder(bytes, .join)
        _ = try? JoinOrder(bytes, .setSSID)
        _ = try? KeyOrder(bytes)
        _ = try? SignalLevels(bytes)
        _ = SecuritySuites(bytes)
        if let command = try? FirmwareCommand(bytes) {
            var firmware = Firmware(address: FirmwareTests.own)
            let answer = firmware.perform(command, at: Instant(milliseconds: 0)).0
            _ = command.response(answer)
        }
    }

    @Test func recordsOfNetworks() throws {
        let elements = try USBTests.bytes("0007486f6d654e6574 010182 0504 00 02 00 00 2d00")
        let bss = AirBSS(
            bssid: FirmwareTests.home, frequency: Frequency(megahertz: 5180), signal: -50, capability: 0x11,
            lastSeen: Instant(milliseconds: 0), elements: elements)
        let record = bss.record[...]
        #expect(record.count == 128 + 20 && record.little(4, as: UInt32.self) == 148)
        #expect(record.bytes(8, 6).map(Array.init) == FirmwareTests.home.bytes)
        #expect(record.little(18, as: UInt8.self) == 7 && record.bytes(19, 7).map(Array.init) == Array("HomeNet".utf8))
        #expect(record.little(52, as: UInt32.self) == 1 && record.little(56, as: UInt8.self) == 0x82)
        #expect(record.little(72, as: UInt16.self) == 0xd024 && record.little(76, as: UInt8.self) == 2)
        #expect(record.little(78, as: Int16.self) == -50 && record.little(81, as: UInt8.self) == 1)
        #expect(record.little(120, as: UInt32.self) == UInt32(elements.count))
        #expect(record.bytes(128, elements.count).map(Array.init) == elements)
        let result = bss.scanResult(syncID: 0x1234)[...]
        #expect(result.little(0, as: UInt32.self) == UInt32(12 + record.count))
        #expect(result.little(10, as: UInt16.self) == 1)
    }

    @Test func longElementsFitATransfer() throws {
        let bss = AirBSS(
            bssid: FirmwareTests.home, frequency: Frequency(megahertz: 2412), signal: -200,
            lastSeen: Instant(milliseconds: 0), elements: Array(repeating: 221, count: 4000))
        #expect(
            FirmwareEvent(code: .scanResult, data: bss.scanResult(syncID: 1)).frame(from: FirmwareTests.own).count
                < 1596)
    }

    @Test func channels() throws {
        #expect(ChannelPlan(country: "CN").count == 26 && ChannelPlan(country: "US").count == 35)
        #expect(ChannelPlan(country: "DE").flags(of: ChannelSpec(value: 0x1000 | 14)) == 0)
        #expect(ChannelPlan(country: "DE").flags(of: ChannelSpec(value: 0xd000 | 52)) == 0x2f)
        #expect(ChannelPlan(country: "00").flags(of: ChannelSpec(value: 0xd000 | 36)) == 0x27)
        for megahertz in [2412, 2472, 2484, 5180, 5825] {
            let frequency = Frequency(megahertz: megahertz)
            #expect(ChannelSpec(frequency)?.frequency == frequency)
        }
        #expect(ChannelSpec(Frequency(megahertz: 5955)) == nil && ChannelSpec(value: 0).frequency == nil)
    }
}
