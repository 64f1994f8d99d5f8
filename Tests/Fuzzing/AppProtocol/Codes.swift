import AgentModel
import AppProtocol

extension FuzzTarget {
    /// What a camera sees: a network or a device, or an error that does not repeat what was read.
    static let codes = FuzzTarget(
        "codes", "the QR codes of networks (WIFI:) and of devices", longest: 512,
        seeds: {
            bytes([
                "WIFI:T:WPA;S:HomeNet;P:correct horse;H:true;;", #"WIFI:S:"a\;b\:c\\";T:SAE;P:"12345678";;"#,
                "WIFI:T:nopass;S:Cafe;;", "wifi:T:WEP;S:a;P:12345;;",
                "altnet:pair?v=1&id=9f86d081884c7d65&key=0123456789abcdef0123456789abcdef",
                "altnet:pair?v=1&x=y&id=a%2Fb&key=%00%ff0123456789abcdef",
            ])
        }
    ) { bytes in
        do throws(NetworkCodeError) {
            let network = try NetworkCode(reading: bytes).network
            precondition((1...SSID.maximumLength).contains(network.ssid.bytes.count))
            switch network.credential {
            case .none: break
            case .password(let password): precondition((try? Passphrase.validate(password)) != nil)
            case .sealed: preconditionFailure("a code has no sealed password")
            }
            precondition((try? NetworkCode(reading: bytes))?.network == network)
        } catch {
            precondition(error.description.utf8.count < 200)
        }
        do throws(PairingCodeError) {
            let code = try PairingCode(reading: bytes)
            // What is not unreserved takes three times the room.
            let uri = code.uri()
            guard uri.utf8.count <= PairingCode.maximumLength else { return }
            precondition((try? PairingCode(reading: uri.utf8)) == code, "a code reads otherwise once it is written")
        } catch {
            precondition(error.description.utf8.count < 200)
        }
    }
}
