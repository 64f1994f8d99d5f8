import AgentModel
import Foundation
import Netlink
import Testing

/// What sysfs says of a radio's switches.
// covers: seed/blocked-radio
@Suite struct RadioBlockTests {
    @Test(
        arguments: [
            ("0", "0", nil), ("1", "0", .soft), ("0", "1", .hard), ("1", "1", .hard), ("", "", nil), ("x", "2", nil),
        ] as [(String, String, RadioBlock?)])
    func isReadFromSysfs(soft: String, hard: String, block: RadioBlock?) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-rfkill-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let radio = folder.appendingPathComponent("wlan0/phy80211/rfkill3")
        try FileManager.default.createDirectory(at: radio, withIntermediateDirectories: true)
        try Data((soft + "\n").utf8).write(to: radio.appendingPathComponent("soft"))
        try Data((hard + "\n").utf8).write(to: radio.appendingPathComponent("hard"))
        #expect(RadioBlock(of: "wlan0", in: folder.path) == block)
        #expect(RadioBlock(of: "wlan1", in: folder.path) == nil)
        #expect(RadioBlock(of: "../wlan0", in: folder.path) == nil)
    }
}
